//! Requests about variables, as the servers take them.
//!
//! A variable is a key of its own in each history. A request is written first and its answer read then, so that a client can go away
//! between the two.
//!
//! - etcd: as [`InEtcd`](picklock_model::objects::cells::InEtcd) asks it, through its HTTP gateway.
//! - Redis: compared by content, in a script. The version of a variable *is* its content: that is only enough where no content
//!   comes again, which is so for what these tests write. A content with a mark for each client never comes again, since a mark only
//!   grows; neither does an index, nor an item.

use super::server::{Kind, Server};
use crate::etcd_server::base64::{base64, text_of};
use crate::etcd_server::http::Http;
use picklock_model::objects::cells::{Ask, Cell, EtcdField, Heard, Version};
use redis::{ConnectionInfo, IntoConnectionInfo, ProtocolVersion};
use serde_json::{Value as Json, json};
use std::io::{Error, Result};
use std::time::Duration;

/// Where variables are.
#[derive(Clone, Copy)]
pub struct Place {
    kind: Kind,
    port: u16,
    /// What of an etcd key is its version.
    by: EtcdField,
    /// Every history has keys of its own.
    history: u32,
}

impl Place {
    pub fn new(server: &Server, by: EtcdField, history: u32) -> Place {
        Place { kind: server.kind, port: server.port, by, history }
    }

    /// `patience` is how long a reply may take.
    pub fn connect(self, patience: Duration) -> Result<Box<dyn Connection>> {
        match self.kind {
            Kind::Etcd => Ok(Box::new(ToEtcd { http: Http::connect(self.port, patience)?, place: self })),
            Kind::RedisThatKeeps | Kind::RedisThatForgets => {
                let connection = connect_to_redis(self.port, patience).map_err(Error::other)?;
                Ok(Box::new(ToRedis { connection, place: self }))
            }
        }
    }

    fn key(self, cell: Cell) -> String {
        format!("{}/{}/{}", self.history, cell.word.0, cell.number)
    }
}

/// A connection, on which one request is under way at most. After an error it is of no use.
pub trait Connection: Send {
    /// Sends a request.
    fn write(&mut self, cell: Cell, ask: Ask) -> Result<()>;

    /// Reads the answer to it. An error says nothing of whether it was done.
    fn read(&mut self, ask: Ask) -> Result<Heard>;
}

struct ToEtcd {
    http: Http,
    place: Place,
}

impl ToEtcd {
    fn body(&self, cell: Cell, ask: Ask) -> (&'static str, Json) {
        let key = base64(self.place.key(cell).as_bytes());
        let value = |content: u32| base64(content.to_string().as_bytes());
        let txn = |(target, field): (&str, &str), given: String, new| {
            let mut compare = json!({ "key": key, "result": "EQUAL", "target": target });
            compare[field] = json!(given);
            let success = match new {
                Some(new) => json!({ "request_put": { "key": key, "value": value(new) } }),
                None => json!({ "request_delete_range": { "key": key } }),
            };
            ("/v3/kv/txn", json!({ "compare": [compare], "success": [success] }))
        };
        const VERSION: (&str, &str) = ("VERSION", "version");
        match ask {
            Ask::Get => ("/v3/kv/range", json!({ "key": key })),
            Ask::Set(Some(new)) => ("/v3/kv/put", json!({ "key": key, "value": value(new) })),
            Ask::Set(None) => ("/v3/kv/deleterange", json!({ "key": key })),
            Ask::SetIfVersion(version, new) => match self.place.by {
                EtcdField::Version => txn(VERSION, version.number().to_string(), new),
                EtcdField::ModRevision => txn(("MOD", "mod_revision"), version.number().to_string(), new),
            },
            Ask::SetIfContent { expected: Some(expected), new } => {
                txn(("VALUE", "value"), value(expected), new)
            }
            // Nothing can be said of the value of a key that is not there; its version is 0.
            Ask::SetIfContent { expected: None, new } => txn(VERSION, "0".to_owned(), new),
        }
    }
}

impl Connection for ToEtcd {
    fn write(&mut self, cell: Cell, ask: Ask) -> Result<()> {
        let (path, body) = self.body(cell, ask);
        self.http.write(path, &body.to_string())
    }

    fn read(&mut self, ask: Ask) -> Result<Heard> {
        let answer = self.http.read()?;
        let answer: Json = serde_json::from_str(&answer)?;
        // It may tell of an error what it does all the same: a request that was proposed and not answered in time.
        if !answer["header"].is_object() {
            return Err(Error::other(answer.to_string()));
        }
        Ok(match ask {
            Ask::Get => match answer["kvs"].get(0) {
                Some(kv) => {
                    let version = match self.place.by {
                        EtcdField::Version => &kv["version"],
                        EtcdField::ModRevision => &kv["mod_revision"],
                    };
                    let content = kv["value"].as_str().map(text_of);
                    Heard::Found(content.map(|text| number(&text)), Version::from(number(text(version))))
                }
                None => Heard::Found(None, Version::ABSENT),
            },
            Ask::Set(_) => Heard::Set(true),
            Ask::SetIfVersion(..) | Ask::SetIfContent { .. } => {
                Heard::Set(answer["succeeded"] == json!(true))
            }
        })
    }
}

fn text(json: &Json) -> &str {
    json.as_str().expect("a number of 64 bits is a text in JSON")
}

fn number(text: &str) -> u32 {
    text.parse().expect("a number")
}

/// Sets the key, or deletes it, if it holds what is expected; the empty text stands for nothing.
const COMPARE_AND_SET: &str = "\
    if (redis.call('get', KEYS[1]) or '') ~= ARGV[1] then return 0 end \
    if ARGV[2] == '' then redis.call('del', KEYS[1]) else redis.call('set', KEYS[1], ARGV[2]) end \
    return 1";

struct ToRedis {
    connection: redis::Connection,
    place: Place,
}

/// Nothing is said before the first request: a server that stands still takes connections, too.
fn connect_to_redis(port: u16, patience: Duration) -> redis::RedisResult<redis::Connection> {
    let info: ConnectionInfo = format!("redis://127.0.0.1:{port}/").into_connection_info()?;
    let plain = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP2).set_skip_set_lib_name();
    let client = redis::Client::open(info.set_redis_settings(plain))?;
    let connection = client.get_connection()?;
    connection.set_read_timeout(Some(patience))?;
    Ok(connection)
}

impl Connection for ToRedis {
    fn write(&mut self, cell: Cell, ask: Ask) -> Result<()> {
        let key = self.place.key(cell);
        let word = |content: Option<u32>| content.map_or(String::new(), |content| content.to_string());
        let eval = |expected, new| {
            let mut eval = redis::cmd("EVAL");
            eval.arg(COMPARE_AND_SET).arg(1).arg(&key).arg(word(expected)).arg(word(new));
            eval
        };
        let mut command = match ask {
            Ask::Get => redis::cmd("GET"),
            Ask::Set(Some(_)) => redis::cmd("SET"),
            Ask::Set(None) => redis::cmd("DEL"),
            Ask::SetIfVersion(version, new) => eval(version.content(), new),
            Ask::SetIfContent { expected, new } => eval(expected, new),
        };
        if let Ask::Get | Ask::Set(_) = ask {
            command.arg(&key);
        }
        if let Ask::Set(Some(new)) = ask {
            command.arg(new);
        }
        self.connection.send_packed_command(&command.get_packed_command()).map_err(Error::other)
    }

    fn read(&mut self, ask: Ask) -> Result<Heard> {
        let reply = self.connection.recv_response().map_err(Error::other)?;
        match (ask, reply) {
            (Ask::Get, redis::Value::Nil) => Ok(Heard::Found(None, Version::ABSENT)),
            (Ask::Get, redis::Value::BulkString(bytes)) => {
                let content = number(&String::from_utf8_lossy(&bytes));
                Ok(Heard::Found(Some(content), Version::of_content(content)))
            }
            (Ask::Set(_), redis::Value::Okay | redis::Value::Int(_)) => Ok(Heard::Set(true)),
            (Ask::SetIfVersion(..) | Ask::SetIfContent { .. }, redis::Value::Int(done)) => {
                Ok(Heard::Set(done == 1))
            }
            // As it starts, it says that it is not ready.
            (_, redis::Value::ServerError(error)) => Err(Error::other(error.to_string())),
            (ask, reply) => panic!("{ask:?} is not answered with {reply:?}"),
        }
    }
}
