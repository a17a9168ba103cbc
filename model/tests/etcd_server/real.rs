//! A real `etcd`, and what it answers.

use super::base64::{base64, text_of};
use super::http::Http;
use picklock_model::stores::etcd::{
    Comparison, Error, Field, Found, Key, KeyValue, Keys, LeaseId, Name, Operation, Outcome, Put, Range,
    Response, Revision, Step, Target, Txn, Value, WatchEvent,
};
use picklock_model::time::Micros;
use serde_json::{Value as Json, json};
use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// What passes between two looks.
pub struct Clock(Instant);

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "a real server, which counts real time")]
    pub fn now() -> Clock {
        Clock(Instant::now())
    }

    pub fn elapsed(&self) -> Micros {
        Micros(self.0.elapsed().as_micros() as i64)
    }
}

/// A server of our own on free ports of this machine.
pub struct Real {
    process: Child,
    data: PathBuf,
    port: u16,
    http: Http,
    /// Which sequence: keys and leases of each have names of their own.
    sequence: u32,
    /// The server's revision at the beginning of the sequence, which is the simulated one's first.
    base: u64,
}

impl Drop for Real {
    fn drop(&mut self) {
        // It may have ended by itself; either way there is nothing to keep.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.data);
    }
}

/// What a client sees of an answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Seen {
    /// Of the header, if the answer has one with a revision.
    pub revision: Option<Revision>,
    pub outcome: Outcome,
}

impl Real {
    /// `None`, and a word about it, where there is no `etcd`.
    pub fn start() -> Option<Real> {
        // Both are bound before one of them is free again, or they might be the same.
        let sockets = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
        let [port, peer_port] =
            sockets.map(|socket| socket.local_addr().expect("a bound socket has an address").port());
        // In memory, where there is such a place: what a sync takes is not what is compared.
        let memory = PathBuf::from("/dev/shm");
        let parent = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let data = parent.join(format!("picklock-etcd-{}-{port}", std::process::id()));
        let address = |port| format!("http://127.0.0.1:{port}");
        let spawned = Command::new("etcd")
            .args(["--name", "picklock", "--log-level", "error", "--data-dir"])
            .arg(&data)
            .args(["--listen-client-urls", &address(port), "--advertise-client-urls", &address(port)])
            .args(["--listen-peer-urls", &address(peer_port)])
            .args(["--initial-advertise-peer-urls", &address(peer_port)])
            .args(["--initial-cluster", &format!("picklock={}", address(peer_port))])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut process = match spawned {
            Ok(process) => process,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                println!("skipped: no etcd here; to install it: apt-get install etcd-server");
                return None;
            }
            Err(error) => panic!("etcd does not start: {error}"),
        };
        for _ in 0..1_500 {
            if let Ok(mut http) = Http::connect(port, PATIENCE)
                && http.post("/v3/kv/range", r#"{"key":"AA=="}"#).is_ok_and(|body| body.contains("revision"))
            {
                return Some(Real { process, data, port, http, sequence: 0, base: 0 });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = process.kill();
        panic!("etcd does not answer on port {port}");
    }

    /// Another sequence begins. The revision is raised, so that what was compacted before is below it.
    pub fn begin(&mut self) {
        self.sequence += 1;
        let body = self.post("/v3/kv/put", &json!({ "key": base64(b"begin"), "value": "" }));
        self.base = number(&body["header"]["revision"]);
    }

    /// Does one operation.
    pub fn ask(&mut self, serial: u32, operation: &Operation) -> Seen {
        let (path, body) = match operation {
            Operation::Range(range) => ("/v3/kv/range", self.range(range)),
            Operation::Put(put) => ("/v3/kv/put", self.put(put)),
            Operation::Delete(keys) => ("/v3/kv/deleterange", self.keys(*keys)),
            Operation::Txn(txn) => ("/v3/kv/txn", self.txn(txn)),
            Operation::Compact(at) => ("/v3/kv/compaction", json!({ "revision": self.revision(*at) })),
            Operation::Grant { ttl } => {
                let ttl = ttl.map_or(0, Micros::whole_seconds);
                let lease = LeaseId { client: 0, serial };
                ("/v3/lease/grant", json!({ "ID": self.lease(lease), "TTL": ttl.to_string() }))
            }
            Operation::GrantAs { lease, ttl } => {
                let ttl = ttl.map_or(0, Micros::whole_seconds);
                ("/v3/lease/grant", json!({ "ID": self.lease(*lease), "TTL": ttl.to_string() }))
            }
            Operation::Revoke(lease) => ("/v3/lease/revoke", json!({ "ID": self.lease(*lease) })),
            Operation::KeepAlive(lease) => ("/v3/lease/keepalive", json!({ "ID": self.lease(*lease) })),
            Operation::TimeToLive(lease) => {
                ("/v3/lease/timetolive", json!({ "ID": self.lease(*lease), "keys": true }))
            }
            Operation::Watch { .. } => unreachable!("a watch is a stream: see `watch`"),
        };
        let answer = self.post(path, &body);
        let answer = if answer["result"].is_object() { answer["result"].clone() } else { answer };
        if let Some(error) = answer["error"].as_str() {
            return Seen { revision: None, outcome: Outcome::Failed(error_of(error)) };
        }
        let revision = match &answer["header"]["revision"] {
            Json::Null => None,
            at => Some(self.revision_of(at)),
        };
        Seen { revision, outcome: self.outcome(operation, &answer) }
    }

    /// The first `count` events of a watch from a revision on; an error says up to where it is compacted.
    pub fn watch(&mut self, from: Revision, count: usize) -> Result<Vec<WatchEvent>, Revision> {
        let mut request = self.keys(Keys::Prefix(0));
        request["start_revision"] = json!(self.revision(from));
        let mut http = Http::connect(self.port, PATIENCE).expect("the server listens");
        let body = json!({ "create_request": request }).to_string();
        http.begin("/v3/watch", &body).expect("the server answers");
        let mut events = Vec::new();
        let mut rest = String::new();
        while events.len() < count {
            rest.push_str(&http.chunk().expect("the stream goes on").expect("it does not end"));
            while let Some((line, after)) = rest.split_once('\n') {
                let message: Json = serde_json::from_str(line).expect("JSON");
                let result = &message["result"];
                if result["canceled"] == json!(true) {
                    return Err(self.revision_of(&result["compact_revision"]));
                }
                let all = result["events"].as_array().cloned().unwrap_or_default();
                events.extend(all.iter().map(|event| self.event(event)));
                rest = after.to_owned();
            }
        }
        Ok(events)
    }

    fn post(&mut self, path: &str, body: &Json) -> Json {
        let answer = self.http.post(path, &body.to_string()).expect("the server answers");
        serde_json::from_str(answer.trim())
            .unwrap_or_else(|error| panic!("{path} {body}: {}: {error}: {answer}", self.http.status))
    }

    // What goes to the server.

    fn key(&self, key: Key) -> String {
        match key.name {
            Name::Word(word) => format!("{:06}/{word:02}", self.sequence),
            name => unreachable!("no {name:?} here"),
        }
    }

    fn keys(&self, keys: Keys) -> Json {
        let bytes = |text: String| base64(text.as_bytes());
        match keys {
            Keys::One(key) => json!({ "key": bytes(self.key(key)) }),
            Keys::Between(first, end) => {
                json!({ "key": bytes(self.key(first)), "range_end": bytes(self.key(end)) })
            }
            // '0' comes after '/'.
            Keys::Prefix(_) => {
                let sequence = self.sequence;
                json!({ "key": bytes(format!("{sequence:06}/")), "range_end": bytes(format!("{sequence:06}0")) })
            }
        }
    }

    fn revision(&self, revision: Revision) -> String {
        match revision {
            Revision::ZERO => "0".to_owned(),
            Revision(at) => (self.base + u64::from(at) - 1).to_string(),
        }
    }

    fn lease(&self, lease: LeaseId) -> String {
        (u64::from(self.sequence) * 1_000 + u64::from(lease.serial)).to_string()
    }

    fn range(&self, range: &Range) -> Json {
        let mut body = self.keys(range.keys);
        body["limit"] = json!(range.limit.to_string());
        body["serializable"] = json!(range.serializable);
        body["sort_order"] = json!(if range.order.descending { "DESCEND" } else { "ASCEND" });
        body["sort_target"] = json!(match range.order.by {
            Field::Key => "KEY",
            Field::Version => "VERSION",
            Field::Create => "CREATE",
            Field::Mod => "MOD",
            Field::Value => "VALUE",
        });
        if let Some(at) = range.revision {
            body["revision"] = json!(self.revision(at));
        }
        if let Some(Revision(before)) = range.created_before {
            body["max_create_revision"] = json!(self.revision(Revision(before - 1)));
        }
        body
    }

    fn put(&self, put: &Put) -> Json {
        let mut body = json!({ "key": base64(self.key(put.key).as_bytes()), "value": value(put.value) });
        if let Some(lease) = put.lease {
            body["lease"] = json!(self.lease(lease));
        }
        body
    }

    fn txn(&self, txn: &Txn) -> Json {
        let steps = |steps: &[Step]| -> Vec<Json> {
            let step = |step: &Step| match step {
                Step::Range(range) => json!({ "request_range": self.range(range) }),
                Step::Put(put) => json!({ "request_put": self.put(put) }),
                Step::Delete(keys) => json!({ "request_delete_range": self.keys(*keys) }),
            };
            steps.iter().map(step).collect()
        };
        let compare = txn.compare.iter().map(|compare| {
            let mut body = self.keys(compare.keys);
            body["result"] = json!(match compare.result {
                Comparison::Equal => "EQUAL",
                Comparison::NotEqual => "NOT_EQUAL",
                Comparison::Greater => "GREATER",
                Comparison::Less => "LESS",
            });
            let (target, field, operand) = match compare.target {
                Target::Version(version) => ("VERSION", "version", version.to_string()),
                Target::Create(at) => ("CREATE", "create_revision", self.revision(at)),
                Target::Mod(at) => ("MOD", "mod_revision", self.revision(at)),
                Target::Value(text) => ("VALUE", "value", value(text)),
                Target::Lease(lease) => {
                    ("LEASE", "lease", lease.map_or("0".to_owned(), |lease| self.lease(lease)))
                }
            };
            body["target"] = json!(target);
            body[field] = json!(operand);
            body
        });
        json!({
            "compare": compare.collect::<Vec<Json>>(),
            "success": steps(&txn.success),
            "failure": steps(&txn.failure),
        })
    }

    // What comes from it. Fields that are zero are left out of its JSON.

    fn revision_of(&self, at: &Json) -> Revision {
        match number(at) {
            0 => Revision::ZERO,
            at => Revision((at + 1 - self.base) as u32),
        }
    }

    fn lease_of(&self, lease: &Json) -> Option<LeaseId> {
        match number(lease) {
            0 => None,
            number => Some(LeaseId { client: 0, serial: (number - u64::from(self.sequence) * 1_000) as u32 }),
        }
    }

    fn outcome(&self, operation: &Operation, answer: &Json) -> Outcome {
        let seconds = |ttl: &Json| Some(Micros::seconds(number(ttl) as i64));
        match operation {
            Operation::Range(_) => Outcome::Range(self.found(answer)),
            Operation::Put(_) => Outcome::Put,
            Operation::Delete(_) => Outcome::Deleted(number(&answer["deleted"]) as u32),
            Operation::Txn(_) => {
                let all = answer["responses"].as_array().cloned().unwrap_or_default();
                let response = |response: &Json| {
                    if response["response_range"].is_object() {
                        Response::Range(self.found(&response["response_range"]))
                    } else if response["response_delete_range"].is_object() {
                        Response::Deleted(number(&response["response_delete_range"]["deleted"]) as u32)
                    } else {
                        Response::Put
                    }
                };
                let succeeded = answer["succeeded"] == json!(true);
                Outcome::Txn { succeeded, responses: all.iter().map(response).collect() }
            }
            Operation::Compact(_) => Outcome::Compacted,
            Operation::Grant { .. } | Operation::GrantAs { .. } => {
                let lease = self.lease_of(&answer["ID"]).expect("a lease has a number");
                Outcome::Granted { lease, ttl: seconds(&answer["TTL"]) }
            }
            Operation::Revoke(_) => Outcome::Revoked,
            Operation::KeepAlive(lease) => match number(&answer["TTL"]) {
                0 => Outcome::LeaseOver(*lease),
                _ => Outcome::KeptAlive { lease: *lease, ttl: seconds(&answer["TTL"]) },
            },
            Operation::TimeToLive(_) => {
                let keys = answer["keys"].as_array().cloned().unwrap_or_default();
                // It knows them in no order.
                let mut keys: Vec<Key> = keys.iter().map(key_of).collect();
                keys.sort_unstable();
                let granted =
                    answer["grantedTTL"].is_string().then(|| seconds(&answer["grantedTTL"])).flatten();
                Outcome::TimeToLive { granted, keys: keys.into() }
            }
            Operation::Watch { .. } => unreachable!("a watch is a stream"),
        }
    }

    fn found(&self, answer: &Json) -> Found {
        let kvs = answer["kvs"].as_array().cloned().unwrap_or_default();
        let kvs = kvs.iter().map(|kv| self.kv(kv)).collect();
        Found { kvs, count: number(&answer["count"]) as u32 }
    }

    fn kv(&self, kv: &Json) -> KeyValue {
        let value = match kv["value"].as_str().map(text_of) {
            None => Value::Empty,
            Some(text) => Value::Text(text.parse().expect("a number")),
        };
        KeyValue {
            key: key_of(&kv["key"]),
            create_revision: self.revision_of(&kv["create_revision"]),
            mod_revision: self.revision_of(&kv["mod_revision"]),
            version: number(&kv["version"]) as u32,
            value,
            lease: self.lease_of(&kv["lease"]),
        }
    }

    fn event(&self, event: &Json) -> WatchEvent {
        match event["type"].as_str() {
            Some("DELETE") => WatchEvent::Delete {
                key: key_of(&event["kv"]["key"]),
                mod_revision: self.revision_of(&event["kv"]["mod_revision"]),
            },
            _ => WatchEvent::Put(self.kv(&event["kv"])),
        }
    }
}

/// Values are texts of one length.
fn value(value: Value) -> String {
    match value {
        Value::Empty => String::new(),
        Value::Text(number) => base64(format!("{number:05}").as_bytes()),
        Value::Drawn { .. } | Value::Name(_) => unreachable!("nothing is drawn here, and nobody named"),
    }
}

fn key_of(key: &Json) -> Key {
    let text = text_of(key.as_str().expect("a key"));
    let (_, word) = text.split_once('/').expect("a prefix and a word");
    Key { prefix: 0, name: Name::Word(word.parse().expect("a number")) }
}

/// A number of 64 bits is a text in JSON.
fn number(json: &Json) -> u64 {
    json.as_str().map_or(0, |text| text.parse().unwrap_or(0))
}

fn error_of(error: &str) -> Error {
    match error.trim_start_matches("etcdserver: ").trim_start_matches("mvcc: ") {
        "requested lease not found" => Error::LeaseNotFound,
        "lease already exists" => Error::LeaseExists,
        "required revision has been compacted" => Error::Compacted,
        "required revision is a future revision" => Error::FutureRevision,
        "duplicate key given in txn request" => Error::DuplicateKey,
        other => panic!("no operation here fails with {other:?}"),
    }
}
