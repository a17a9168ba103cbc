//! Types of columns: how values are checked, written in CQL, and ordered.

use super::cql::Literal;
use super::frame::Writer;
use super::refusal::{Refusal, hex};
use bytes::Bytes;

/// The type of a column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    Ascii,
    Bigint,
    Blob,
    Boolean,
    Date,
    Double,
    Float,
    Int,
    Smallint,
    Text,
    Time,
    Timestamp,
    Timeuuid,
    Tinyint,
    Uuid,
    /// In system tables only, as are the following.
    Inet,
    List(Box<Kind>),
    Set(Box<Kind>),
    Map(Box<Kind>, Box<Kind>),
}

/// Seconds, days and nanoseconds that dates are counted in.
const EPOCH_DAY: i64 = 1 << 31;
const DAY_NANOS: i64 = 86_400_000_000_000;

impl Kind {
    /// The type of this name, as columns of clients may have it.
    pub fn named(name: &str) -> Result<Kind, Refusal> {
        Ok(match name {
            "ascii" => Kind::Ascii,
            "bigint" => Kind::Bigint,
            "blob" => Kind::Blob,
            "boolean" => Kind::Boolean,
            "date" => Kind::Date,
            "double" => Kind::Double,
            "float" => Kind::Float,
            "int" => Kind::Int,
            "smallint" => Kind::Smallint,
            "text" | "varchar" => Kind::Text,
            "time" => Kind::Time,
            "timestamp" => Kind::Timestamp,
            "timeuuid" => Kind::Timeuuid,
            "tinyint" => Kind::Tinyint,
            "uuid" => Kind::Uuid,
            other => return Err(Refusal::not_served(format!("the type {other}"))),
        })
    }

    pub fn name(&self) -> String {
        match self {
            Kind::Ascii => "ascii".to_owned(),
            Kind::Bigint => "bigint".to_owned(),
            Kind::Blob => "blob".to_owned(),
            Kind::Boolean => "boolean".to_owned(),
            Kind::Date => "date".to_owned(),
            Kind::Double => "double".to_owned(),
            Kind::Float => "float".to_owned(),
            Kind::Int => "int".to_owned(),
            Kind::Smallint => "smallint".to_owned(),
            Kind::Text => "text".to_owned(),
            Kind::Time => "time".to_owned(),
            Kind::Timestamp => "timestamp".to_owned(),
            Kind::Timeuuid => "timeuuid".to_owned(),
            Kind::Tinyint => "tinyint".to_owned(),
            Kind::Uuid => "uuid".to_owned(),
            Kind::Inet => "inet".to_owned(),
            Kind::List(of) => format!("list<{}>", of.name()),
            Kind::Set(of) => format!("set<{}>", of.name()),
            Kind::Map(key, value) => format!("map<{}, {}>", key.name(), value.name()),
        }
    }

    /// Its number in the protocol, and what it is made of.
    pub fn write(&self, to: &mut Writer) {
        match self {
            Kind::Ascii => to.short(0x01),
            Kind::Bigint => to.short(0x02),
            Kind::Blob => to.short(0x03),
            Kind::Boolean => to.short(0x04),
            Kind::Double => to.short(0x07),
            Kind::Float => to.short(0x08),
            Kind::Int => to.short(0x09),
            Kind::Timestamp => to.short(0x0B),
            Kind::Uuid => to.short(0x0C),
            Kind::Text => to.short(0x0D),
            Kind::Timeuuid => to.short(0x0F),
            Kind::Inet => to.short(0x10),
            Kind::Date => to.short(0x11),
            Kind::Time => to.short(0x12),
            Kind::Smallint => to.short(0x13),
            Kind::Tinyint => to.short(0x14),
            Kind::List(of) => {
                of.write(to.short(0x20));
                to
            }
            Kind::Map(key, value) => {
                key.write(to.short(0x21));
                value.write(to);
                to
            }
            Kind::Set(of) => {
                of.write(to.short(0x22));
                to
            }
        };
    }

    /// Whether these bytes are a value of the type.
    pub fn check(&self, bytes: &[u8]) -> Result<(), Refusal> {
        let length = match self {
            Kind::Blob | Kind::Inet | Kind::List(_) | Kind::Set(_) | Kind::Map(..) => return Ok(()),
            Kind::Ascii if bytes.is_ascii() => return Ok(()),
            Kind::Ascii => return Err(Refusal::invalid("Invalid byte for ascii")),
            Kind::Text if std::str::from_utf8(bytes).is_ok() => return Ok(()),
            Kind::Text => return Err(Refusal::invalid("String didn't validate.")),
            Kind::Boolean | Kind::Tinyint => 1,
            Kind::Smallint => 2,
            Kind::Int | Kind::Float | Kind::Date => 4,
            Kind::Bigint | Kind::Double | Kind::Time | Kind::Timestamp => 8,
            Kind::Uuid | Kind::Timeuuid => 16,
        };
        if bytes.len() != length {
            let (name, found) = (self.name(), bytes.len());
            return Err(Refusal::invalid(format!("Expected {length} byte long {name} ({found})")));
        }
        match self {
            Kind::Timeuuid if bytes[6] >> 4 != 1 => {
                Err(Refusal::invalid("Invalid version for TimeUUID type."))
            }
            _ => Ok(()),
        }
    }

    /// The bytes of a value as it is written; `column` is whose it is.
    pub fn read(&self, literal: &Literal, column: &str) -> Result<Option<Bytes>, Refusal> {
        let wrong = |sort: &str, text: &str| {
            let kind = self.name();
            Refusal::invalid(format!("Invalid {sort} constant ({text}) for \"{column}\" of type {kind}"))
        };
        let bytes = match (self, literal) {
            (_, Literal::Null) => return Ok(None),
            (Kind::Ascii | Kind::Text, Literal::Text(text)) => text.clone().into_bytes(),
            (Kind::Blob, Literal::Hex(digits)) => unhex(digits).ok_or_else(|| wrong("HEX", digits))?,
            (Kind::Boolean, Literal::Boolean(value)) => vec![u8::from(*value)],
            (Kind::Tinyint, Literal::Integer(digits)) => number::<i8>(digits, wrong)?.to_be_bytes().to_vec(),
            (Kind::Smallint, Literal::Integer(digits)) => {
                number::<i16>(digits, wrong)?.to_be_bytes().to_vec()
            }
            (Kind::Int, Literal::Integer(digits)) => number::<i32>(digits, wrong)?.to_be_bytes().to_vec(),
            (Kind::Bigint | Kind::Timestamp | Kind::Time, Literal::Integer(digits)) => {
                number::<i64>(digits, wrong)?.to_be_bytes().to_vec()
            }
            (Kind::Date, Literal::Integer(digits)) => number::<u32>(digits, wrong)?.to_be_bytes().to_vec(),
            (Kind::Float, Literal::Integer(digits) | Literal::Float(digits)) => {
                number::<f32>(digits, wrong)?.to_be_bytes().to_vec()
            }
            (Kind::Double, Literal::Integer(digits) | Literal::Float(digits)) => {
                number::<f64>(digits, wrong)?.to_be_bytes().to_vec()
            }
            (Kind::Uuid | Kind::Timeuuid, Literal::Uuid(text)) => {
                unhex(&text.replace('-', "")).ok_or_else(|| wrong("UUID", text))?
            }
            (Kind::Timestamp | Kind::Date | Kind::Time, Literal::Text(text)) => {
                let (kind, text) = (self.name(), text);
                return Err(Refusal::not_served(format!("'{text}' as a {kind}: give its number")));
            }
            (_, Literal::Text(text)) => return Err(wrong("STRING", text)),
            (_, Literal::Integer(text)) => return Err(wrong("INTEGER", text)),
            (_, Literal::Float(text)) => return Err(wrong("FLOAT", text)),
            (_, Literal::Uuid(text)) => return Err(wrong("UUID", text)),
            (_, Literal::Hex(text)) => return Err(wrong("HEX", text)),
            (_, Literal::Boolean(value)) => return Err(wrong("BOOLEAN", &value.to_string())),
        };
        self.check(&bytes)?;
        Ok(Some(Bytes::from(bytes)))
    }

    /// Bytes in whose order values are.
    pub fn order(&self, bytes: &[u8]) -> Vec<u8> {
        let mut order = bytes.to_vec();
        match self {
            Kind::Int | Kind::Bigint | Kind::Smallint | Kind::Tinyint | Kind::Timestamp | Kind::Time => {
                order.first_mut().into_iter().for_each(|first| *first ^= 0x80);
            }
            Kind::Float | Kind::Double => match order.first().copied() {
                Some(first) if first & 0x80 != 0 => order.iter_mut().for_each(|byte| *byte = !*byte),
                Some(_) => order[0] ^= 0x80,
                None => {}
            },
            // `TimeUUIDType`: by their time, then as signed bytes. `UUIDType`: by their version before that.
            Kind::Timeuuid | Kind::Uuid if order.len() == 16 => {
                let version = bytes[6] >> 4;
                if version == 1 {
                    let time = [
                        bytes[6] & 0x0f,
                        bytes[7],
                        bytes[4],
                        bytes[5],
                        bytes[0],
                        bytes[1],
                        bytes[2],
                        bytes[3],
                    ];
                    let rest = bytes[8..]
                        .iter()
                        .map(|byte| if *self == Kind::Timeuuid { byte ^ 0x80 } else { *byte });
                    order = time.into_iter().chain(rest).collect();
                }
                if *self == Kind::Uuid {
                    order.insert(0, version);
                }
            }
            Kind::Ascii
            | Kind::Blob
            | Kind::Boolean
            | Kind::Date
            | Kind::Text
            | Kind::Timeuuid
            | Kind::Uuid
            | Kind::Inet
            | Kind::List(_)
            | Kind::Set(_)
            | Kind::Map(..) => {}
        }
        order
    }

    /// As it is written.
    pub fn show(&self, bytes: &[u8]) -> String {
        let signed = || {
            bytes
                .iter()
                .skip(1)
                .fold(bytes.first().map_or(0, |first| i64::from(*first as i8)), |sum, byte| {
                    sum << 8 | i64::from(*byte)
                })
        };
        match self {
            Kind::Ascii | Kind::Text => format!("'{}'", String::from_utf8_lossy(bytes).replace('\'', "''")),
            Kind::Bigint | Kind::Int | Kind::Smallint | Kind::Tinyint | Kind::Timestamp | Kind::Time => {
                signed().to_string()
            }
            Kind::Date => (signed() & 0xffff_ffff).to_string(),
            Kind::Boolean => (bytes != [0]).to_string(),
            Kind::Float => <[u8; 4]>::try_from(bytes)
                .map_or_else(|_| hex(bytes), |it| f32::from_be_bytes(it).to_string()),
            Kind::Double => <[u8; 8]>::try_from(bytes)
                .map_or_else(|_| hex(bytes), |it| f64::from_be_bytes(it).to_string()),
            Kind::Uuid | Kind::Timeuuid if bytes.len() == 16 => {
                let digits = hex(bytes);
                let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
                parts.join("-")
            }
            _ => format!("0x{}", hex(bytes)),
        }
    }
}

fn number<T: std::str::FromStr>(digits: &str, wrong: impl Fn(&str, &str) -> Refusal) -> Result<T, Refusal> {
    digits.parse().map_err(|_| wrong("INTEGER", digits))
}

fn unhex(digits: &str) -> Option<Vec<u8>> {
    if !digits.len().is_multiple_of(2) || !digits.is_ascii() {
        return None;
    }
    (0..digits.len() / 2).map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).ok()).collect()
}

/// A version 1 UUID of this time in microseconds since 1970, whose other bits are these.
pub fn timeuuid(unix_micros: i64, ticks: u64, node: u64) -> [u8; 16] {
    /// 100 ns steps from the beginning of the Gregorian calendar to 1970.
    const GREGORIAN: u64 = 0x01B2_1DD2_1381_4000;
    let time = GREGORIAN.wrapping_add((unix_micros as u64).wrapping_mul(10)).wrapping_add(ticks);
    let mut uuid = [0; 16];
    uuid[..4].copy_from_slice(&(time as u32).to_be_bytes());
    uuid[4..6].copy_from_slice(&((time >> 32) as u16).to_be_bytes());
    uuid[6..8].copy_from_slice(&(((time >> 48) as u16 & 0x0fff) | 0x1000).to_be_bytes());
    uuid[8..].copy_from_slice(&node.to_be_bytes());
    uuid[8] = 0x80 | (uuid[8] & 0x3f);
    uuid
}

/// The milliseconds since 1970 of a version 1 UUID.
pub fn millis_of(uuid: &[u8]) -> Option<i64> {
    let uuid: [u8; 16] = uuid.try_into().ok()?;
    let low = u64::from(u32::from_be_bytes([uuid[0], uuid[1], uuid[2], uuid[3]]));
    let middle = u64::from(u16::from_be_bytes([uuid[4], uuid[5]]));
    let high = u64::from(u16::from_be_bytes([uuid[6] & 0x0f, uuid[7]]));
    let time = high << 48 | middle << 32 | low;
    Some((time.wrapping_sub(0x01B2_1DD2_1381_4000) as i64).div_euclid(10_000))
}

/// The number of the day of a moment, as a `date` has it, and the nanoseconds since it began.
pub fn day_of(unix_millis: i64) -> (u32, i64) {
    let day = unix_millis.div_euclid(86_400_000);
    let nanos = unix_millis.rem_euclid(86_400_000) * 1_000_000;
    (u32::try_from(day + EPOCH_DAY).unwrap_or(u32::MAX), nanos % DAY_NANOS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(kind: &Kind, literal: Literal) -> Bytes {
        kind.read(&literal, "c").expect("a value").expect("not null")
    }

    #[test]
    fn values_are_in_the_order_of_their_type() {
        let integer = |text: &str| Literal::Integer(text.to_owned());
        for kind in [Kind::Int, Kind::Bigint, Kind::Smallint, Kind::Tinyint, Kind::Float, Kind::Double] {
            let values =
                ["-100", "-1", "0", "1", "2", "99"].map(|text| kind.order(&bytes(&kind, integer(text))));
            assert!(values.is_sorted_by(|one, two| one < two), "{kind:?}");
        }
        let times = [1, 5_000_000, 1 << 50].map(|at| Kind::Timeuuid.order(&timeuuid(at, 0, 7)));
        assert!(times.is_sorted_by(|one, two| one < two));
    }

    #[test]
    fn a_value_of_another_type_is_refused_in_the_words_of_the_real_server() {
        let refused = Kind::Int.read(&Literal::Text("x".to_owned()), "c");
        let why = "Invalid STRING constant (x) for \"c\" of type int";
        assert_eq!(refused, Err(Refusal::invalid(why)));
        assert!(Kind::Tinyint.read(&Literal::Integer("128".to_owned()), "c").is_err());
        assert!(Kind::Blob.read(&Literal::Hex("abc".to_owned()), "c").is_err());
        assert!(Kind::Timeuuid.check(&[0; 16]).is_err());
    }

    #[test]
    fn a_timeuuid_has_its_time() {
        for millis in [0, 1_764_357_000_123] {
            assert_eq!(millis_of(&timeuuid(millis * 1000, 3, u64::MAX)), Some(millis));
        }
        assert_eq!(Kind::Uuid.show(&[0x11; 16]), "11111111-1111-1111-1111-111111111111");
    }
}
