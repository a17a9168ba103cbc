//! ZooKeeper's client protocol by hand: frames of big-endian numbers, as `zookeeper.jute` has them. And servers to speak to.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use picklock_model::stores::zookeeper::Settings;
use picklock_sim::serve::zookeeper::{Servers, serve, settings};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// Types of requests (`ZooDefs.OpCode`).
pub mod op {
    pub const CREATE: i32 = 1;
    pub const DELETE: i32 = 2;
    pub const EXISTS: i32 = 3;
    pub const GET_DATA: i32 = 4;
    pub const SET_DATA: i32 = 5;
    pub const GET_ACL: i32 = 6;
    pub const SET_ACL: i32 = 7;
    pub const GET_CHILDREN: i32 = 8;
    pub const SYNC: i32 = 9;
    pub const PING: i32 = 11;
    pub const GET_CHILDREN_2: i32 = 12;
    pub const CHECK: i32 = 13;
    pub const MULTI: i32 = 14;
    pub const CREATE_2: i32 = 15;
    pub const RECONFIG: i32 = 16;
    pub const CHECK_WATCHES: i32 = 17;
    pub const REMOVE_WATCHES: i32 = 18;
    pub const CREATE_CONTAINER: i32 = 19;
    pub const CREATE_TTL: i32 = 21;
    pub const AUTH: i32 = 100;
    pub const SET_WATCHES: i32 = 101;
    pub const GET_EPHEMERALS: i32 = 103;
    pub const COUNT_BELOW: i32 = 104;
    pub const ADD_WATCH: i32 = 106;
    pub const WHO_AM_I: i32 = 107;
    pub const CLOSE: i32 = -11;
}

/// Flags of a create (`CreateMode`).
pub const PERSISTENT: i32 = 0;
pub const EPHEMERAL: i32 = 1;
pub const SEQUENTIAL: i32 = 2;
pub const EPHEMERAL_SEQUENTIAL: i32 = 3;

/// What a request or an answer has in it.
#[derive(Clone, Default, Debug)]
pub struct Body(pub BytesMut);

impl Body {
    pub fn new() -> Body {
        Body::default()
    }

    pub fn int(mut self, value: i32) -> Body {
        self.0.put_i32(value);
        self
    }

    pub fn long(mut self, value: i64) -> Body {
        self.0.put_i64(value);
        self
    }

    pub fn bool(mut self, value: bool) -> Body {
        self.0.put_u8(value.into());
        self
    }

    pub fn buffer(mut self, bytes: &[u8]) -> Body {
        self.0.put_i32(bytes.len() as i32);
        self.0.put_slice(bytes);
        self
    }

    pub fn string(self, text: &str) -> Body {
        self.buffer(text.as_bytes())
    }

    pub fn strings(mut self, texts: &[&str]) -> Body {
        self.0.put_i32(texts.len() as i32);
        for text in texts {
            self = self.string(text);
        }
        self
    }

    /// Anybody may do anything.
    pub fn open(self) -> Body {
        self.int(1).int(31).string("world").string("anyone")
    }

    pub fn more(mut self, other: Body) -> Body {
        self.0.put_slice(&other.0);
        self
    }
}

pub fn create(path: &str, data: &[u8], flags: i32) -> Body {
    Body::new().string(path).buffer(data).open().int(flags)
}

pub fn at_version(path: &str, version: i32) -> Body {
    Body::new().string(path).int(version)
}

pub fn set(path: &str, data: &[u8], version: i32) -> Body {
    Body::new().string(path).buffer(data).int(version)
}

pub fn look(path: &str, watch: bool) -> Body {
    Body::new().string(path).bool(watch)
}

/// One of several changes in a `multi`.
pub fn part(kind: i32, body: Body) -> Body {
    Body::new().int(kind).bool(false).int(-1).more(body)
}

/// Nothing more in a `multi`.
pub fn done() -> Body {
    Body::new().int(-1).bool(true).int(-1)
}

/// A stat, as it is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stat {
    pub czxid: i64,
    pub mzxid: i64,
    pub ctime: i64,
    pub mtime: i64,
    pub version: i32,
    pub cversion: i32,
    pub aversion: i32,
    pub owner: i64,
    pub data_bytes: i32,
    pub children: i32,
    pub pzxid: i64,
}

pub fn stat(bytes: &mut Bytes) -> Stat {
    Stat {
        czxid: bytes.get_i64(),
        mzxid: bytes.get_i64(),
        ctime: bytes.get_i64(),
        mtime: bytes.get_i64(),
        version: bytes.get_i32(),
        cversion: bytes.get_i32(),
        aversion: bytes.get_i32(),
        owner: bytes.get_i64(),
        data_bytes: bytes.get_i32(),
        children: bytes.get_i32(),
        pzxid: bytes.get_i64(),
    }
}

pub fn text(bytes: &mut Bytes) -> String {
    let length = bytes.get_i32() as usize;
    String::from_utf8(bytes.split_to(length).to_vec()).expect("UTF-8")
}

pub fn texts(bytes: &mut Bytes) -> Vec<String> {
    (0..bytes.get_i32()).map(|_| text(bytes)).collect()
}

/// What a server sends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    pub xid: i32,
    pub zxid: i64,
    pub error: i32,
    pub body: Bytes,
}

impl Reply {
    /// What is in it.
    pub fn ok(self) -> Bytes {
        assert_eq!(self.error, 0, "{self:?}");
        self.body
    }
}

/// A watch that has fired: the event's type and the path.
pub type Event = (i32, String);

/// A connection with a session.
pub struct Client {
    stream: TcpStream,
    pub session: i64,
    pub password: Bytes,
    pub timeout_ms: i32,
    last_xid: i32,
    /// The last transaction that was answered.
    pub zxid: i64,
    /// What has fired since this was last looked at.
    pub events: Vec<Event>,
}

/// How long an answer may take that is expected.
const PATIENCE: Duration = Duration::from_secs(20);

/// A frame; `None`: the connection has ended.
pub async fn frame(stream: &mut TcpStream) -> Option<Bytes> {
    let length = stream.read_i32().await.ok()?;
    let mut bytes = vec![0; usize::try_from(length).expect("a length")];
    stream.read_exact(&mut bytes).await.ok()?;
    Some(bytes.into())
}

pub async fn send(stream: &mut TcpStream, body: &Body) {
    let bytes = [&(body.0.len() as i32).to_be_bytes()[..], &body.0].concat();
    // Who does not listen any more is found out by the answer that does not come.
    let _gone = stream.write_all(&bytes).await;
}

/// What a client says first.
pub fn hello(last: i64, timeout_ms: i32, session: i64, password: &[u8]) -> Body {
    Body::new().int(0).long(last).int(timeout_ms).long(session).buffer(password).bool(false)
}

impl Client {
    /// With a new session.
    pub async fn connect(address: SocketAddr) -> Client {
        Client::connect_for(address, 10_000).await.expect("it takes clients")
    }

    pub async fn connect_for(address: SocketAddr, timeout_ms: i32) -> Option<Client> {
        Client::begin(address, 0, timeout_ms, 0, &[0; 16]).await
    }

    /// The same session on another connection.
    pub async fn again(&self, address: SocketAddr) -> Option<Client> {
        Client::begin(address, self.zxid, self.timeout_ms, self.session, &self.password).await
    }

    /// `None`: the server has closed the connection. A session that is over has no time.
    pub async fn begin(
        address: SocketAddr,
        last: i64,
        timeout_ms: i32,
        session: i64,
        password: &[u8],
    ) -> Option<Client> {
        let mut stream = TcpStream::connect(address).await.ok()?;
        stream.set_nodelay(true).ok()?;
        send(&mut stream, &hello(last, timeout_ms, session, password)).await;
        let mut answer = timeout(PATIENCE, frame(&mut stream)).await.expect("in time")?;
        assert_eq!(answer.get_i32(), 0, "the protocol's version");
        let (timeout_ms, session) = (answer.get_i32(), answer.get_i64());
        let length = answer.get_i32() as usize;
        let password = answer.split_to(length);
        assert_eq!(&answer[..], [0], "not for reads only");
        Some(Client { stream, session, password, timeout_ms, last_xid: 0, zxid: last, events: Vec::new() })
    }

    /// Sends a request, whose answer comes later.
    pub async fn send(&mut self, kind: i32, body: Body) -> i32 {
        self.last_xid += 1;
        let xid = self.last_xid;
        self.send_as(xid, kind, body).await;
        xid
    }

    pub async fn send_as(&mut self, xid: i32, kind: i32, body: Body) {
        send(&mut self.stream, &Body::new().int(xid).int(kind).more(body)).await;
    }

    /// The next thing that the server says, events too; `None`: the connection has ended.
    pub async fn next(&mut self) -> Option<Reply> {
        let mut answer = frame(&mut self.stream).await?;
        let reply =
            Reply { xid: answer.get_i32(), zxid: answer.get_i64(), error: answer.get_i32(), body: answer };
        if reply.xid == -1 {
            let mut body = reply.body.clone();
            let (kind, state) = (body.get_i32(), body.get_i32());
            assert_eq!((state, reply.zxid), (3, -1), "connected, and no transaction");
            self.events.push((kind, text(&mut body)));
        } else if reply.xid >= 0 {
            self.zxid = self.zxid.max(reply.zxid);
        }
        Some(reply)
    }

    /// The next answer; events are kept.
    pub async fn answer(&mut self) -> Option<Reply> {
        loop {
            let reply = timeout(PATIENCE, self.next()).await.expect("in time")?;
            if reply.xid != -1 {
                return Some(reply);
            }
        }
    }

    /// Asks, and waits for the answer; `None`: the connection has ended.
    pub async fn try_ask(&mut self, kind: i32, body: Body) -> Option<Reply> {
        let xid = self.send(kind, body).await;
        let reply = self.answer().await?;
        assert_eq!(reply.xid, xid);
        Some(reply)
    }

    pub async fn ask(&mut self, kind: i32, body: Body) -> Reply {
        self.try_ask(kind, body).await.expect("it answers")
    }

    /// Creates a znode; its path.
    pub async fn create(&mut self, path: &str, data: &[u8], flags: i32) -> String {
        text(&mut self.ask(op::CREATE, create(path, data, flags)).await.ok())
    }

    pub async fn delete(&mut self, path: &str) -> i32 {
        self.ask(op::DELETE, at_version(path, -1)).await.error
    }

    pub async fn exists(&mut self, path: &str, watch: bool) -> Option<Stat> {
        let reply = self.ask(op::EXISTS, look(path, watch)).await;
        (reply.error != -101).then(|| stat(&mut reply.ok()))
    }

    pub async fn data(&mut self, path: &str, watch: bool) -> (Vec<u8>, Stat) {
        let mut body = self.ask(op::GET_DATA, look(path, watch)).await.ok();
        let length = body.get_i32() as usize;
        let data = body.split_to(length).to_vec();
        (data, stat(&mut body))
    }

    /// In their order.
    pub async fn children(&mut self, path: &str, watch: bool) -> Vec<String> {
        let mut names = texts(&mut self.ask(op::GET_CHILDREN, look(path, watch)).await.ok());
        names.sort();
        names
    }

    pub async fn ping(&mut self) -> Option<Reply> {
        self.send_as(-2, op::PING, Body::new()).await;
        let reply = self.answer().await?;
        assert_eq!((reply.xid, reply.error), (-2, 0));
        Some(reply)
    }

    /// The next event.
    pub async fn event(&mut self) -> Event {
        while self.events.is_empty() {
            let reply = timeout(PATIENCE, self.next()).await.expect("in time").expect("it goes on");
            assert_eq!(reply.xid, -1, "{reply:?}");
        }
        self.events.remove(0)
    }
}

/// Servers in this process.
pub struct Ensemble {
    pub servers: Servers,
    pub addresses: Vec<SocketAddr>,
}

impl Ensemble {
    pub async fn client(&self, server: usize) -> Client {
        Client::connect(self.addresses[server]).await
    }

    /// A client of a server, once it takes clients.
    pub async fn client_again(&self, server: usize) -> Client {
        for _ in 0..1_000 {
            if let Some(client) = Client::connect_for(self.addresses[server], 10_000).await {
                return client;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("server {server} takes no clients");
    }
}

/// Serves so many servers while the test goes on.
pub fn with_servers<F: Future<Output = ()>>(count: u8, settings: Settings, test: impl FnOnce(Ensemble) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let servers = Servers::new(count, settings);
        let (mut addresses, mut processes) = (Vec::new(), tokio::task::JoinSet::new());
        for server in 0..count {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
            addresses.push(listener.local_addr().expect("an address"));
            let servers = servers.clone();
            processes.spawn(async move { serve(&servers, server, listener).await });
        }
        let ensemble = Ensemble { servers, addresses };
        tokio::select! {
            biased;
            Some(ended) = processes.join_next() => panic!("a server has stopped: {ended:?}"),
            () = test(ensemble) => {}
        }
    });
}

/// With one server, and a client of it.
pub fn with_one<F: Future<Output = ()>>(test: impl FnOnce(Client) -> F) {
    with_servers(1, settings(), async |ensemble| test(ensemble.client(0).await).await);
}
