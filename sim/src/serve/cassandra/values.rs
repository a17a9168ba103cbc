//! The values of a request: what is bound to its markers, what is written in its text, and what functions give.

use super::cql::Term;
use super::frame::Bound;
use super::kinds::{Kind, day_of, millis_of, timeuuid};
use super::refusal::Refusal;
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// A marker, as clients are told what to bind to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Marker {
    pub name: String,
    pub kind: Kind,
}

/// A number that may not be there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Number {
    Is(i64),
    Null,
    /// As if the option were not there.
    Unset,
}

/// Longer ones are no keys.
const KEY_BYTES_MAX: usize = 65_535;

/// The coordinator's clock, as functions see it.
#[derive(Clone, Debug)]
pub struct Moment {
    /// When the request came, in microseconds since 1970.
    pub unix_micros: i64,
    pub server: u8,
    /// What gives the server's UUIDs.
    pub uuids: Arc<Uuids>,
}

/// What gives the UUIDs of one server: each call of a function another one, within one request, too.
#[derive(Debug)]
pub struct Uuids {
    /// The last time that was put into one, in microseconds since 1970.
    last: AtomicI64,
    drawn: AtomicU64,
}

impl Default for Uuids {
    fn default() -> Self {
        Uuids { last: AtomicI64::new(i64::MIN), drawn: AtomicU64::new(0) }
    }
}

impl Uuids {
    /// A time for a UUID, now or later: never the same twice (`TimeUUID.java`).
    fn time(&self, now: i64) -> i64 {
        let after = |last: i64| now.max(last.saturating_add(1));
        let last = self.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(after(last)));
        // It always succeeds.
        last.map_or(now, after)
    }

    /// How many were drawn before.
    fn draw(&self) -> u64 {
        self.drawn.fetch_add(1, Ordering::Relaxed)
    }
}

/// What a request has brought.
#[derive(Clone, Debug)]
pub struct Values {
    pub bound: Vec<Bound>,
    pub moment: Moment,
}

impl Values {
    /// A term as a value of this type; `Unset`: it is not to be written.
    pub fn term(&self, term: &Term, kind: &Kind, column: &str) -> Result<Bound, Refusal> {
        match term {
            Term::Marker(number) => {
                let bound = self.bound.get(*number).ok_or_else(|| {
                    let found = self.bound.len();
                    Refusal::invalid(format!(
                        "there were more markers(?) in CQL than provided in the request ({found})"
                    ))
                })?;
                if let Bound::Bytes(bytes) = bound {
                    // No bytes stand for a value of any type, but of text they are one.
                    if bytes.is_empty() && !matches!(kind, Kind::Text | Kind::Ascii | Kind::Blob) {
                        return Err(Refusal::not_served(format!("a value of no bytes for \"{column}\"")));
                    }
                    kind.check(bytes)?;
                }
                Ok(bound.clone())
            }
            Term::Literal(literal) => Ok(kind.read(literal, column)?.map_or(Bound::Null, Bound::Bytes)),
            Term::Call(name, arguments) => {
                let (found, bytes) = self.call(name, arguments)?;
                let fits = found == *kind || (found == Kind::Timeuuid && *kind == Kind::Uuid);
                if !fits {
                    let (found, kind) = (found.name(), kind.name());
                    return Err(Refusal::invalid(format!(
                        "Type error: cannot assign result of function {name} (type {found}) to {column} (type {kind})"
                    )));
                }
                Ok(Bound::Bytes(bytes))
            }
        }
    }

    /// A value that must be there.
    pub fn required(&self, term: &Term, kind: &Kind, column: &str) -> Result<Bytes, Refusal> {
        match self.term(term, kind, column)? {
            Bound::Bytes(bytes) if bytes.len() > KEY_BYTES_MAX => {
                let found = bytes.len();
                Err(Refusal::invalid(format!(
                    "Key length of {found} is longer than maximum of {KEY_BYTES_MAX}"
                )))
            }
            Bound::Bytes(bytes) => Ok(bytes),
            Bound::Null => {
                Err(Refusal::invalid(format!("Invalid null value in condition for column {column}")))
            }
            Bound::Unset => Err(Refusal::invalid(format!("Invalid unset value for column {column}"))),
        }
    }

    /// A number.
    pub fn number(&self, term: &Term, kind: &Kind, what: &str) -> Result<Number, Refusal> {
        let bytes = match self.term(term, kind, what)? {
            Bound::Bytes(bytes) => bytes,
            Bound::Null => return Ok(Number::Null),
            Bound::Unset => return Ok(Number::Unset),
        };
        let wide = <[u8; 8]>::try_from(&bytes[..]).map(i64::from_be_bytes);
        let narrow = <[u8; 4]>::try_from(&bytes[..]).map(|bytes| i32::from_be_bytes(bytes).into());
        Ok(wide.or(narrow).map_or(Number::Null, Number::Is))
    }

    /// A function, and the type of what it gives.
    pub fn call(&self, name: &str, arguments: &[Term]) -> Result<(Kind, Bytes), Refusal> {
        let Moment { unix_micros, server, uuids } = &self.moment;
        let millis = unix_micros.div_euclid(1000);
        let now = || timeuuid(uuids.time(*unix_micros), 0, 0x7069_636b_6c6f_0000 | u64::from(*server));
        let argument = || -> Result<i64, Refusal> {
            match arguments {
                [Term::Call(inner, inside)] => {
                    let (kind, bytes) = self.call(inner, inside)?;
                    let millis = match kind {
                        Kind::Timeuuid => millis_of(&bytes),
                        Kind::Timestamp => <[u8; 8]>::try_from(&bytes[..]).ok().map(i64::from_be_bytes),
                        _ => None,
                    };
                    millis.ok_or_else(|| Refusal::not_served(format!("{name} of a {}", kind.name())))
                }
                _ => Err(Refusal::not_served(format!("{name} of anything but now()"))),
            }
        };
        let none = |given: (Kind, Bytes)| match arguments.is_empty() {
            true => Ok(given),
            false => Err(Refusal::invalid(format!("Invalid number of arguments in call to function {name}"))),
        };
        let big = |value: i64| Bytes::copy_from_slice(&value.to_be_bytes());
        let day = |millis: i64| Bytes::copy_from_slice(&day_of(millis).0.to_be_bytes());
        match name {
            "now" | "currenttimeuuid" => none((Kind::Timeuuid, Bytes::copy_from_slice(&now()))),
            "currenttimestamp" => none((Kind::Timestamp, big(millis))),
            "currentdate" => none((Kind::Date, day(millis))),
            "currenttime" => none((Kind::Time, big(day_of(millis).1))),
            "totimestamp" | "dateof" => Ok((Kind::Timestamp, big(argument()?))),
            "tounixtimestamp" | "unixtimestampof" => Ok((Kind::Bigint, big(argument()?))),
            "todate" => Ok((Kind::Date, day(argument()?))),
            "uuid" => {
                let drawn = u128::from(mixed(uuids.draw() << 8 | u64::from(*server))) << 64
                    | u128::from(mixed(*unix_micros as u64));
                let mut uuid = drawn.to_be_bytes();
                uuid[6] = 0x40 | (uuid[6] & 0x0f);
                uuid[8] = 0x80 | (uuid[8] & 0x3f);
                none((Kind::Uuid, Bytes::copy_from_slice(&uuid)))
            }
            other => Err(Refusal::not_served(format!("the function {other}"))),
        }
    }
}

/// SplitMix64: bits that look drawn, and are the same for the same number.
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_call_of_a_function_gives_a_uuid_of_its_own_within_one_request_too() {
        let uuids = Arc::new(Uuids::default());
        let request = || {
            let moment = Moment { unix_micros: 1_000_000, server: 1, uuids: Arc::clone(&uuids) };
            Values { bound: Vec::new(), moment }
        };
        for function in ["now", "uuid"] {
            let of_one = |values: Values| {
                (0..50).map(move |_| values.call(function, &[]).expect("it is served").1).collect::<Vec<_>>()
            };
            let given = [of_one(request()), of_one(request())].concat();
            assert_eq!(given.iter().collect::<BTreeSet<_>>().len(), 100, "{function}");
            // No time is less than one that was given before.
            let times = given.iter().map(|uuid| millis_of(uuid));
            assert!(function == "uuid" || times.is_sorted());
        }
    }
}
