//! Random commands for two servers, whose replies must be the same: nothing here knows which of them is real.
//!
//! What depends on the order in which a real server keeps sets and hashes is compared in another order; what depends on the
//! moment, up to a tolerance. `DBSIZE` is not asked: the real server counts what is dead and not yet removed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A reply.
#[derive(Clone, PartialEq, PartialOrd, Debug)]
pub enum Said {
    /// `+`, `-`, `:`, `,`: what is in its line, with the sign.
    Line(String),
    /// A string.
    Text(Vec<u8>),
    /// `$-1`, `*-1`, `_`.
    Nothing(String),
    /// `*`, `%`, `~`, `>`.
    Many(char, Vec<Said>),
}

/// A connection.
pub struct Spoken(BufReader<TcpStream>);

impl Spoken {
    pub fn to(port: u16) -> Spoken {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time-out is set");
        Spoken(BufReader::new(stream))
    }

    pub fn send(&mut self, words: &[Vec<u8>]) {
        let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            bytes.extend(format!("${}\r\n", word.len()).into_bytes());
            bytes.extend_from_slice(word);
            bytes.extend(b"\r\n");
        }
        self.0.get_mut().write_all(&bytes).expect("it reads");
    }

    pub fn ask(&mut self, words: &[Vec<u8>]) -> Said {
        self.send(words);
        self.hear()
    }

    pub fn hear(&mut self) -> Said {
        let mut line = Vec::new();
        self.0.read_until(b'\n', &mut line).expect("it replies");
        let line = String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned();
        let number = || line[1..].parse::<i64>().expect("a number");
        match line.chars().next().expect("it does not hang up") {
            '_' => Said::Nothing(line),
            '$' | '*' if number() < 0 => Said::Nothing(line),
            '$' | '=' => {
                let mut text = vec![0; number() as usize + 2];
                self.0.read_exact(&mut text).expect("all of it");
                text.truncate(text.len() - 2);
                Said::Text(text)
            }
            sign @ ('*' | '~' | '>') => Said::Many(sign, (0..number()).map(|_| self.hear()).collect()),
            '%' => Said::Many('%', (0..2 * number()).map(|_| self.hear()).collect()),
            _ => Said::Line(line),
        }
    }
}

/// SplitMix64.
pub struct Dice(pub u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let drawn = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        drawn ^ (drawn >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }
}

/// What a command is made of: `k` a key, `v` a value, `n` a number, `N` one that may be a life, `f` a number with a fraction, `t` a time in
/// milliseconds, `T` one in seconds, `b` the place of a bit, `L` a library, `F` a function, `o` an option of `SET`, `e` and `E` one of `EXPIRE`, `z` one of `ZADD`, `l` a side, `m` a
/// member; `?` may leave out what follows it, `+` may repeat it. Anything else is itself.
const FORMS: &[&str] = &[
    "GET k",
    "SET k v",
    "SET k v o",
    "SET k v o o",
    "SET k v o o o",
    "SETNX k v",
    "SETEX k T v",
    "PSETEX k t v",
    "GETSET k v",
    "GETDEL k",
    "GETEX k",
    "GETEX k o",
    "MGET k +k",
    "MSET k v +k",
    "MSETNX k v k v",
    "APPEND k m",
    "STRLEN k",
    "GETRANGE k n n",
    "SETRANGE k n m",
    "GETBIT k n",
    "SETBIT k b n",
    "INCR k",
    "DECR k",
    "INCRBY k n",
    "DECRBY k n",
    "DEL k +k",
    "UNLINK k",
    "EXISTS k +k",
    "TYPE k",
    "TTL k",
    "PTTL k",
    "PERSIST k",
    "EXPIRE k T ?E",
    "PEXPIRE k t ?E",
    "EXPIREAT k n",
    "PEXPIREAT k A ?e ?e",
    "EXPIRETIME k",
    "RENAME k k",
    "RENAMENX k k",
    "KEYS p",
    "HSET k m v +m",
    "HSETNX k m v",
    "HGET k m",
    "HMGET k m m",
    "HDEL k m +m",
    "HEXISTS k m",
    "HLEN k",
    "HKEYS k",
    "HVALS k",
    "HGETALL k",
    "HINCRBY k m n",
    "HSTRLEN k m",
    "LPUSH k m +m",
    "RPUSH k m +m",
    "LPUSHX k m",
    "RPUSHX k m",
    "LPOP k ?n",
    "RPOP k ?n",
    "LLEN k",
    "LRANGE k n n",
    "LINDEX k n",
    "LSET k n m",
    "LREM k n m",
    "LTRIM k n n",
    "RPOPLPUSH k k",
    "LMOVE k k l l",
    "SADD k m +m",
    "SREM k m +m",
    "SISMEMBER k m",
    "SMISMEMBER k m m",
    "SMEMBERS k",
    "SCARD k",
    "SINTER k k",
    "SUNION k k",
    "SDIFF k k",
    "SUNIONSTORE k k k",
    "ZADD k f m",
    "ZADD k z f m",
    "ZADD k z z f m +f",
    "ZINCRBY k f m",
    "ZREM k m +m",
    "ZSCORE k m",
    "ZMSCORE k m m",
    "ZRANK k m",
    "ZREVRANK k m",
    "ZCARD k",
    "ZCOUNT k r r",
    "ZRANGE k n n ?WITHSCORES",
    "ZREVRANGE k n n ?WITHSCORES",
    "ZRANGEBYSCORE k r r ?WITHSCORES",
    "ZREVRANGEBYSCORE k r r",
    "ZRANGE k r r BYSCORE",
    "ZRANGE k r r BYSCORE REV LIMIT n n",
    "ZRANGEBYSCORE k r r LIMIT n n",
    "ZREMRANGEBYSCORE k r r",
    "ZREMRANGEBYRANK k n n",
    "ZPOPMIN k ?n",
    "ZPOPMAX k ?n",
    "ZINTERSTORE k 2 k k",
    "ZINTERSTORE k 2 k k WEIGHTS 1 0",
    "ZUNIONSTORE k 2 k k AGGREGATE MAX",
    "BLPOP k k 0.01",
    "BZPOPMIN k 0.01",
    "MULTI",
    "EXEC",
    "EXEC",
    "DISCARD",
    "WATCH k",
    "UNWATCH",
    "SELECT d",
    "SWAPDB d d",
    "PING ?m",
    "ECHO v",
    "FLUSHDB",
    "CLIENT GETNAME",
    "CLIENT SETNAME m",
    "CLIENT NO-EVICT m",
    "PUBLISH m v",
    "PUBSUB NUMSUB m",
    "WAIT 0 0",
    "NOSUCH v m",
    "SCRIPT EXISTS m",
    "SCRIPT FLUSH m",
    "CLIENT m",
    "CONFIG GET m",
    "EVAL s 1 k m t",
    "EVAL s 1 k m N",
    "EVAL s n k v",
    "EVAL_RO s 1 k m",
    "FUNCTION LOAD L",
    "FUNCTION LOAD REPLACE L",
    "FUNCTION DELETE mylib",
    "FUNCTION FLUSH",
    "FUNCTION STATS",
    "FCALL F 1 k m t",
    "FCALL F n k v",
    "FCALL_RO F 1 k m",
    "GET",
    "SET k",
    "EXPIRE k",
    "AUTH default m",
    "AUTH m",
    "HELLO 2",
    "HELLO n",
    "HELLO 2 SETNAME m",
];

const SCRIPTS: &[&str] = &[
    "if redis.call('get',KEYS[1]) == ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end",
    "if redis.call('get',KEYS[1]) == ARGV[1] then return redis.call('pexpire',KEYS[1],ARGV[2]) else return 0 end",
    "if redis.call('set',KEYS[1],ARGV[1],'NX','PX',ARGV[2]) then return redis.call('incr',KEYS[1]) end return false",
    "return {KEYS[1],ARGV[1],#ARGV,false,1.9,{1,{2}}}",
    "return redis.pcall('lpush',KEYS[1],ARGV[1])",
    "return redis.call('lpush',KEYS[1],ARGV[1])",
    "return redis.call('type',KEYS[1])",
    "return redis.call('type',KEYS[1]).ok",
    "local e = redis.pcall('incr',KEYS[1]) if type(e) == 'table' then return e.err end return e",
    "return redis.call('set',KEYS[1])",
    "return redis.call('nosuch')",
    "return redis.call()",
    "local t = {} for i=1,10 do t[i] = i*i end return table.concat(t,',')",
    "return cjson.encode({1,2,'x',{a=ARGV[1]}})",
    "return cjson.decode('{\"a\":[1,2.5,null,true]}').a[2]*2",
    "return tostring(ARGV[1] + 1)",
    "error('boom')",
    "error({err='MY own'})",
    "return redis.error_reply('My Err')",
    "return redis.error_reply('-MY Err')",
    "return redis.error_reply('single')",
    "return redis.status_reply('fine')",
    "x = 1",
    "return nosuch",
    "string.foo = 1",
    "foo(",
    "return {err='a\\r\\nb'}",
    "local ok, e = pcall(redis.call, 'get') return {tostring(ok), type(e), e}",
    "local ok, e = pcall(error, 'x') return e",
    "return bit.band(tonumber(ARGV[1]) or 7, 255)",
    "return bit.tohex(65535)",
    "redis.call('select', 3) return redis.call('dbsize')",
    "return redis.call('zadd',KEYS[1],1.5,ARGV[1])",
    "return redis.call('zscore',KEYS[1],ARGV[1])",
    "return #redis.call('hgetall',KEYS[1])",
    "return redis.sha1hex(ARGV[1])",
    "return ARGV[1]:rep(3):upper()",
    "return {tostring(nil), tostring(_VERSION), type(redis), type(cjson.null)}",
    "for i=1,3 do\n  redis.call('rpush',KEYS[1],i)\nend\nreturn redis.call('llen',KEYS[1])",
    "local a = nil\nreturn a.b",
    "return redis.call('get',{})",
    "return 2^53",
    "return -3.7",
    "return loadstring('return 1+1')()",
    "return select('#', unpack(ARGV))",
];

const LIBRARIES: &[&str] = &[
    "#!lua name=mylib\nredis.register_function('f', function(keys, args) return redis.call('get', keys[1]) end)",
    "#!lua name=mylib\nredis.register_function{function_name='g', flags={'no-writes'}, callback=function(keys, args)\n\
     return redis.call('set', keys[1], args[1])\nend}",
    "#!lua name=other\nredis.register_function('f', function() return 1 end)",
    "#!lua name=other\nredis.register_function('h', function(keys, args) return {#keys, #args, args[1]} end)",
    "#!lua name=other\nreturn 1",
    "#!lua name=other\nfoo(",
    "#!lua name=o-o\nreturn 1",
    "#!lua\nreturn 1",
    "#!js name=other\nreturn 1",
    "return 1",
];

fn word(form: &str, dice: &mut Dice) -> String {
    match form {
        "k" => format!("k{}", dice.below(6)),
        "m" => dice.of(&["a", "b", "c", "d", "10", "-1", "x y", "", "ON"]).to_owned(),
        "v" => dice
            .of(&["v", "1", "-5", "007", "9223372036854775807", "3.5", "", "a\r\nb", "long value"])
            .to_owned(),
        "n" => dice
            .of(&["0", "1", "2", "3", "-1", "-2", "-100", "100", "9223372036854775807", "x", "1.5", "4"])
            .to_owned(),
        // Where it may become a life in milliseconds: none so short that it is over for one of the two and not for the other.
        "N" => dice.of(&["0", "-1", "-2", "-100", "9223372036854775807", "x", "1.5", "250000"]).to_owned(),
        "f" => dice
            .of(&["0", "1", "1.5", "-2", "inf", "-inf", "1e3", "x", "nan", "0.1", "3", "1e100"])
            .to_owned(),
        "r" => dice.of(&["-inf", "+inf", "0", "1", "(1", "(1.5", "2", "x", "(x", "-5"]).to_owned(),
        // Long enough that nothing dies meanwhile, or dead at once.
        "t" => dice
            .of(&["100000", "500000", "0", "-1", "x", "9223372036854775807", "900000", "1000000"])
            .to_owned(),
        "T" => dice
            .of(&["100", "500", "0", "-1", "x", "9223372036854775807", "9223372036854776", "900"])
            .to_owned(),
        "o" => dice
            .of(&[
                "NX",
                "XX",
                "GET",
                "KEEPTTL",
                "PX 100000",
                "EX 100",
                "PX 0",
                "PX",
                "EX x",
                "PXAT 1",
                "EXAT 9999999999",
                "PERSIST",
                "FOO",
                "px 500000",
            ])
            .to_owned(),
        // Moments, which are the same for both: which of two is later, they must agree on.
        "A" => dice.of(&["4102444800000", "4202444800000", "4302444800000", "1", "x"]).to_owned(),
        "E" => dice.of(&["NX", "XX", "foo\r\n+OK"]).to_owned(),
        "e" => dice.of(&["NX", "XX", "GT", "LT", "foo\r\n+OK"]).to_owned(),
        "z" => dice.of(&["NX", "XX", "GT", "LT", "CH", "INCR", "ch"]).to_owned(),
        "l" => dice.of(&["LEFT", "RIGHT", "left", "up"]).to_owned(),
        "d" => dice.of(&["0", "1", "15", "16", "-1", "x", "0", "0"]).to_owned(),
        "p" => dice.of(&["*", "k*", "k[0-2]", "k?", "nosuch"]).to_owned(),
        "L" => dice.of(LIBRARIES).to_owned(),
        "F" => dice.of(&["f", "g", "h", "nosuch"]).to_owned(),
        "b" => dice.of(&["0", "1", "7", "8", "100", "-1", "x", "4294967296"]).to_owned(),
        "s" => dice.of(SCRIPTS).to_owned(),
        other => other.to_owned(),
    }
}

/// A command drawn at random.
pub fn command(dice: &mut Dice) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    for part in dice.of(FORMS).split(' ') {
        let (times, form) = match part.split_at_checked(1) {
            Some(("?", form)) => (dice.below(2), form),
            Some(("+", form)) => (dice.below(3), form),
            _ => (1, part),
        };
        for _ in 0..times {
            let text = word(form, dice);
            match form {
                "o" => words.extend(text.split(' ').map(|word| word.as_bytes().to_vec())),
                _ => words.push(text.into_bytes()),
            }
        }
    }
    words
}

/// Replies whose order is nobody's to say.
const UNORDERED: &[&str] = &["KEYS", "SMEMBERS", "HKEYS", "HVALS", "SINTER", "SUNION", "SDIFF"];

fn ordered(said: Said, step: usize) -> Said {
    match said {
        Said::Many(sign, mut parts) => {
            if step == 2 {
                let mut pairs: Vec<Vec<Said>> = parts.chunks(2).map(<[Said]>::to_vec).collect();
                pairs.sort_by(|left, right| left.partial_cmp(right).expect("no NaN"));
                return Said::Many(sign, pairs.concat());
            }
            parts.sort_by(|left, right| left.partial_cmp(right).expect("no NaN"));
            Said::Many(sign, parts)
        }
        other => other,
    }
}

fn is_close(left: &Said, right: &Said, tolerance: i64) -> bool {
    let number = |said: &Said| match said {
        Said::Line(line) => line.strip_prefix(':')?.parse::<i64>().ok(),
        _ => None,
    };
    match (number(left), number(right)) {
        (Some(left), Some(right)) if left > 0 && right > 0 => {
            left.abs_diff(right) <= tolerance.unsigned_abs()
        }
        _ => left == right,
    }
}

/// Without the number of the connection.
fn anonymous(said: &Said) -> Said {
    let is_id = |said: &Said| *said == Said::Text(b"id".to_vec());
    match said {
        Said::Many(sign, parts) => {
            let id = parts.iter().position(is_id).map(|place| place + 1);
            let others = parts.iter().enumerate().filter(|(place, _)| Some(*place) != id);
            Said::Many(*sign, others.map(|(_, part)| part.clone()).collect())
        }
        other => other.clone(),
    }
}

fn is_same(words: &[Vec<u8>], left: &Said, right: &Said) -> bool {
    let name = String::from_utf8_lossy(&words[0]).to_uppercase();
    let step = if name == "HGETALL" { 2 } else { 1 };
    match name.as_str() {
        "HELLO" => anonymous(left) == anonymous(right),
        "PTTL" => is_close(left, right, 2_000),
        "TTL" | "EXPIRETIME" | "PEXPIRETIME" => is_close(left, right, 2),
        "HGETALL" => ordered(left.clone(), step) == ordered(right.clone(), step),
        _ if UNORDERED.contains(&name.as_str()) => ordered(left.clone(), 1) == ordered(right.clone(), 1),
        _ => left == right,
    }
}

/// So many random commands; how the two differ.
pub fn differences(ours: u16, real: u16, seed: u64, count: usize) -> Vec<String> {
    let (mut ours, mut real, mut dice) = (Spoken::to(ours), Spoken::to(real), Dice(seed));
    for server in [&mut ours, &mut real] {
        let flush = |what: &[u8]| vec![what.to_vec(), b"FLUSH".to_vec()];
        for words in [vec![b"FLUSHALL".to_vec()], flush(b"SCRIPT"), flush(b"FUNCTION")] {
            server.ask(&words);
        }
    }
    let mut differ = Vec::new();
    let mut queued: Vec<Vec<Vec<u8>>> = Vec::new();
    let mut is_open = false;
    for _ in 0..count {
        let words = command(&mut dice);
        // Within one reply of the real server the protocol would change: nobody does that.
        if is_open && words[0] == b"HELLO" {
            continue;
        }
        let (left, right) = (ours.ask(&words), real.ask(&words));
        let shown = || words.iter().map(|word| String::from_utf8_lossy(word)).collect::<Vec<_>>().join(" ");
        if left == Said::Line("+QUEUED".to_owned()) && left == right {
            queued.push(words);
            continue;
        }
        let is_exec = words[0].eq_ignore_ascii_case(b"EXEC");
        let same = match (&left, &right) {
            (Said::Many(_, lefts), Said::Many(_, rights)) if is_exec && lefts.len() == queued.len() => {
                let pairs = queued.iter().zip(lefts.iter().zip(rights));
                lefts.len() == rights.len()
                    && pairs.into_iter().all(|(words, (left, right))| is_same(words, left, right))
            }
            _ => is_same(&words, &left, &right),
        };
        let ends = ["EXEC", "DISCARD"].iter().any(|name| words[0].eq_ignore_ascii_case(name.as_bytes()));
        is_open = !ends && (is_open || words[0] == b"MULTI");
        if ends || left == Said::Line("+OK".to_owned()) {
            queued.clear();
        }
        if !same {
            differ.push(format!("{}: {left:?} and not {right:?}", shown()));
        }
    }
    differ
}
