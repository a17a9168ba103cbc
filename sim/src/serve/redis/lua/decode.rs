//! `cjson.decode`: what is JSON, and in which words it is said that something is none (`deps/lua/src/lua_cjson.c`).

use super::json::null;
use super::misused;
use crate::serve::redis::numbers::float_in_front;
use mlua::{Lua, LuaString, Table, Value};

/// A text of JSON as a value of Lua, with so many tables in tables at most. Whether it may have numbers that JSON has not: `inf`,
/// `nan`, hexadecimal ones, and those with a sign or zeros in front.
pub fn decode(lua: &Lua, text: &LuaString, depth_max: usize, takes_invalid: bool) -> mlua::Result<Value> {
    let bytes = text.as_bytes();
    if matches!(&bytes[..], [0, _, ..] | [_, 0, ..]) {
        return Err(misused(lua, "JSON parser does not support UTF-16 or UTF-32"));
    }
    let mut reader = Reader { lua, bytes: &bytes, at: 0, depth_max, takes_invalid };
    let value = reader.value()?;
    match reader.next() {
        (Token::End, _) => Ok(value),
        found => Err(reader.unexpected("the end", found)),
    }
}

/// What a text is made of.
enum Token {
    ObjectBegin,
    ObjectEnd,
    ArrayBegin,
    ArrayEnd,
    String(Vec<u8>),
    Number(f64),
    Boolean(bool),
    Null,
    Colon,
    Comma,
    End,
    /// What is wrong with it.
    Broken(&'static str),
}

impl Token {
    /// As the real one names it in errors.
    fn name(&self) -> &'static str {
        match self {
            Token::ObjectBegin => "T_OBJ_BEGIN",
            Token::ObjectEnd => "T_OBJ_END",
            Token::ArrayBegin => "T_ARR_BEGIN",
            Token::ArrayEnd => "T_ARR_END",
            Token::String(_) => "T_STRING",
            Token::Number(_) => "T_NUMBER",
            Token::Boolean(_) => "T_BOOLEAN",
            Token::Null => "T_NULL",
            Token::Colon => "T_COLON",
            Token::Comma => "T_COMMA",
            Token::End => "T_END",
            Token::Broken(what) => what,
        }
    }
}

/// A token, and where it begins, or where it is wrong.
type Placed = (Token, usize);

const INVALID_TOKEN: Token = Token::Broken("invalid token");
const INVALID_NUMBER: Token = Token::Broken("invalid number");

struct Reader<'a> {
    lua: &'a Lua,
    bytes: &'a [u8],
    at: usize,
    depth_max: usize,
    takes_invalid: bool,
}

/// A table of which the end has not come, and where the next value goes.
type Open = (Table, Next);

enum Next {
    /// Into an object, under this name.
    Name(LuaString),
    /// Into an array.
    Place(i64),
}

impl Reader<'_> {
    /// Reads a value, and all that is in it: without recursion, for it may be deep.
    fn value(&mut self) -> mlua::Result<Value> {
        let mut open: Vec<Open> = Vec::new();
        let mut token = self.next();
        loop {
            let mut value = match token {
                (Token::String(text), _) => Value::String(self.lua.create_string(text)?),
                (Token::Number(number), _) => Value::Number(number),
                (Token::Boolean(is_true), _) => Value::Boolean(is_true),
                (Token::Null, _) => null(),
                (Token::ObjectBegin, _) => {
                    self.descend(open.len())?;
                    let table = self.lua.create_table()?;
                    match self.next() {
                        (Token::ObjectEnd, _) => Value::Table(table),
                        name => {
                            open.push((table, Next::Name(self.name(name)?)));
                            token = self.next();
                            continue;
                        }
                    }
                }
                (Token::ArrayBegin, _) => {
                    self.descend(open.len())?;
                    let table = self.lua.create_table()?;
                    match self.next() {
                        (Token::ArrayEnd, _) => Value::Table(table),
                        first => {
                            open.push((table, Next::Place(1)));
                            token = first;
                            continue;
                        }
                    }
                }
                found => return Err(self.unexpected("value", found)),
            };
            // It has ended, and perhaps what it is in ends with it.
            token = loop {
                let Some((table, next)) = open.pop() else { return Ok(value) };
                match &next {
                    Next::Name(name) => table.raw_set(name, value)?,
                    Next::Place(place) => table.raw_set(*place, value)?,
                }
                match (next, self.next()) {
                    (Next::Name(_), (Token::ObjectEnd, _)) | (Next::Place(_), (Token::ArrayEnd, _)) => {
                        value = Value::Table(table);
                    }
                    (Next::Name(_), (Token::Comma, _)) => {
                        let name = self.next();
                        open.push((table, Next::Name(self.name(name)?)));
                        break self.next();
                    }
                    (Next::Place(place), (Token::Comma, _)) => {
                        open.push((table, Next::Place(place + 1)));
                        break self.next();
                    }
                    (Next::Name(_), found) => return Err(self.unexpected("comma or object end", found)),
                    (Next::Place(_), found) => return Err(self.unexpected("comma or array end", found)),
                }
            };
        }
    }

    /// The name of a member, and the colon behind it.
    fn name(&mut self, name: Placed) -> mlua::Result<LuaString> {
        let name = match name {
            (Token::String(name), _) => self.lua.create_string(name)?,
            found => return Err(self.unexpected("object key string", found)),
        };
        match self.next() {
            (Token::Colon, _) => Ok(name),
            found => Err(self.unexpected("colon", found)),
        }
    }

    /// Before a table in so many others.
    fn descend(&self, depth: usize) -> mlua::Result<()> {
        if depth < self.depth_max {
            return Ok(());
        }
        let text = format!("Found too many nested data structures ({}) at character {}", depth + 1, self.at);
        Err(misused(self.lua, &text))
    }

    fn unexpected(&self, expected: &str, (found, at): Placed) -> mlua::Error {
        let text = format!("Expected {expected} but found {} at character {}", found.name(), at + 1);
        misused(self.lua, &text)
    }

    /// The byte so far ahead, or 0 behind the end, as in a C string.
    fn ahead(&self, by: usize) -> u8 {
        self.bytes.get(self.at + by).copied().unwrap_or(0)
    }

    fn next(&mut self) -> Placed {
        while matches!(self.ahead(0), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
        let at = self.at;
        let token = match self.ahead(0) {
            b'{' => Token::ObjectBegin,
            b'}' => Token::ObjectEnd,
            b'[' => Token::ArrayBegin,
            b']' => Token::ArrayEnd,
            b',' => Token::Comma,
            b':' => Token::Colon,
            0 => return (Token::End, at),
            b'"' => return self.string(at),
            b'+' | b'-' | b'0'..=b'9' | b'f' | b'i' | b'I' | b'n' | b'N' | b't' => return (self.word(), at),
            _ => return (INVALID_TOKEN, at),
        };
        self.at += 1;
        (token, at)
    }

    /// A number, or a word that JSON knows.
    fn word(&mut self) -> Token {
        let rest = &self.bytes[self.at..];
        let known = [("true", Token::Boolean(true)), ("false", Token::Boolean(false)), ("null", Token::Null)];
        let is_number = matches!(self.ahead(0), b'-' | b'0'..=b'9');
        let known = known.into_iter().find(|(word, _)| rest.starts_with(word.as_bytes()));
        match known {
            Some((word, token)) => {
                self.at += word.len();
                token
            }
            None if is_number && !self.takes_invalid && is_invalid(rest) => INVALID_NUMBER,
            None if is_number || (self.takes_invalid && is_invalid(rest)) => match float_in_front(rest) {
                (_, 0) => INVALID_NUMBER,
                (number, length) => {
                    self.at += length;
                    Token::Number(number)
                }
            },
            None => INVALID_TOKEN,
        }
    }

    /// From the quote on.
    fn string(&mut self, at: usize) -> Placed {
        self.at += 1;
        let mut text = Vec::new();
        loop {
            match self.ahead(0) {
                b'"' => {
                    self.at += 1;
                    return (Token::String(text), at);
                }
                0 => return (Token::Broken("unexpected end of string"), self.at),
                b'\\' => match self.escaped(&mut text) {
                    Ok(length) => self.at += length,
                    Err(what) => return (Token::Broken(what), self.at),
                },
                byte => {
                    text.push(byte);
                    self.at += 1;
                }
            }
        }
    }

    /// What is escaped with the backslash that is next; how long that is.
    fn escaped(&self, text: &mut Vec<u8>) -> Result<usize, &'static str> {
        let byte = match self.ahead(1) {
            byte @ (b'"' | b'\\' | b'/') => byte,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'f' => 12,
            b'r' => b'\r',
            b'u' => {
                let (letter, length) = self.unicode().ok_or("invalid unicode escape code")?;
                text.extend(letter.encode_utf8(&mut [0; 4]).bytes());
                return Ok(length);
            }
            _ => return Err("invalid escape code"),
        };
        text.push(byte);
        Ok(2)
    }

    /// A letter in UTF-16, and how long it is: two escapes, if one does not suffice.
    fn unicode(&self) -> Option<(char, usize)> {
        let unit = |from: usize| {
            (from..from + 4)
                .try_fold(0, |unit, by| Some(unit * 16 + char::from(self.ahead(by)).to_digit(16)?))
        };
        let first = unit(2)?;
        if let Some(letter) = char::from_u32(first) {
            return Some((letter, 6));
        }
        let is_escape = (self.ahead(6), self.ahead(7)) == (b'\\', b'u');
        let second = unit(8).filter(|second| is_escape && (0xdc00..0xe000).contains(second))?;
        // The first half of a pair is below the second one.
        let letter = 0x1_0000 + (first.checked_sub(0xd800)? << 10) + (second - 0xdc00);
        Some((char::from_u32(letter).filter(|_| first < 0xdc00)?, 12))
    }
}

/// Whether a number begins as JSON lets none begin.
fn is_invalid(number: &[u8]) -> bool {
    let starts = |word: &[u8], rest: &[u8]| {
        rest.get(..word.len()).is_some_and(|front| front.eq_ignore_ascii_case(word))
    };
    match number.strip_prefix(b"-").unwrap_or(number) {
        [b'+', ..] => number[0] == b'+',
        [b'0', b'x' | b'X' | b'0'..=b'9', ..] => true,
        rest => starts(b"inf", rest) || starts(b"nan", rest),
    }
}

#[cfg(test)]
mod tests {
    use crate::serve::redis::Servers;
    use crate::serve::redis::direct::Direct;

    /// What a script says of a text that it decodes.
    fn decoded(client: &Direct, text: &str) -> String {
        let script = "local value = cjson.decode(ARGV[1])
            if type(value) == 'table' then return cjson.encode(value) end
            return type(value) .. ' ' .. tostring(value)";
        client.say(&["EVAL", script, "0", text]).expect("it answers")
    }

    #[test]
    fn what_is_json_is_decoded() {
        let client = Direct::new(&Servers::new(1, Default::default()));
        for (text, said) in [
            ("[1, {\"a\": [true, null]}, \"x\"]", "$25 [1,{\"a\":[true,null]},\"x\"]"),
            (" {\"a\":1,\"a\":2}\n", "$7 {\"a\":2}"),
            ("[]", "$2 {}"),
            ("\"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\"", "$17 string Aé€😀"),
            ("\"\\/\\b\\f\\\\\\\"\"", "$12 string /\u{8}\u{c}\\\""),
            ("\"a\tb\"", "$10 string a\tb"),
            ("-1.5e2", "$11 number -150"),
            ("1.", "$8 number 1"),
            ("01", "$8 number 1"),
            ("+1", "$8 number 1"),
            ("0x10", "$9 number 16"),
            ("Infinity", "$10 number inf"),
            ("-inf", "$11 number -inf"),
            ("1e400", "$10 number inf"),
            ("false", "$13 boolean false"),
        ] {
            assert_eq!(decoded(&client, text), said, "{text}");
        }
    }

    #[test]
    fn what_is_no_json_is_refused_in_the_real_words() {
        let client = Direct::new(&Servers::new(1, Default::default()));
        for (text, wrong) in [
            ("", "Expected value but found T_END at character 1"),
            ("x", "Expected value but found invalid token at character 1"),
            ("nul", "Expected value but found invalid token at character 1"),
            ("nulll", "Expected the end but found invalid token at character 5"),
            ("1 2", "Expected the end but found T_NUMBER at character 3"),
            ("[1", "Expected comma or array end but found T_END at character 3"),
            ("[1,]", "Expected value but found T_ARR_END at character 4"),
            ("[1 2]", "Expected comma or array end but found T_NUMBER at character 4"),
            ("{", "Expected object key string but found T_END at character 2"),
            ("{1:2}", "Expected object key string but found T_NUMBER at character 2"),
            ("{\"a\" 1}", "Expected colon but found T_NUMBER at character 6"),
            ("{\"a\":1 \"b\":2}", "Expected comma or object end but found T_STRING at character 8"),
            ("{\"a\":1,}", "Expected object key string but found T_OBJ_END at character 8"),
            ("\"abc", "Expected value but found unexpected end of string at character 5"),
            ("\"a\\x\"", "Expected value but found invalid escape code at character 3"),
            ("\"a\\u12\"", "Expected value but found invalid unicode escape code at character 3"),
            ("\"\\ud800\\u0041\"", "Expected value but found invalid unicode escape code at character 2"),
            ("\"\\udc00\"", "Expected value but found invalid unicode escape code at character 2"),
            ("-a", "Expected value but found invalid number at character 1"),
            (".5", "Expected value but found invalid token at character 1"),
            ("1e", "Expected the end but found invalid token at character 2"),
            ("12a", "Expected the end but found invalid token at character 3"),
            ("\0", "Expected value but found T_END at character 1"),
            ("[\x001]", "JSON parser does not support UTF-16 or UTF-32"),
        ] {
            let said = decoded(&client, text);
            assert!(said.starts_with(&format!("-ERR user_script:1: {wrong} script: ")), "{text}: {said}");
        }
    }

    #[test]
    fn a_thousand_tables_are_in_each_other_at_most() {
        let client = Direct::new(&Servers::new(1, Default::default()));
        let script = "local depth, value = 0, cjson.decode(ARGV[1])
            while type(value) == 'table' do depth, value = depth + 1, value[1] end
            return depth";
        let deep = format!("{}{}", "[".repeat(1_000), "]".repeat(1_000));
        assert_eq!(client.say(&["EVAL", script, "0", &deep]).as_deref(), Some(":1000"));
        for (text, at) in [("[", 1_001), ("{\"a\":", 5_001)] {
            let said = decoded(&client, &text.repeat(1_001));
            let wrong = format!("Found too many nested data structures (1001) at character {at} ");
            assert!(said.starts_with(&format!("-ERR user_script:1: {wrong}")), "{said}");
        }
    }

    #[test]
    fn a_script_can_ask_for_numbers_of_json_only() {
        let client = Direct::new(&Servers::new(1, Default::default()));
        let asked = client.say(&["EVAL", "return cjson.decode_invalid_numbers(false)", "0"]);
        assert_eq!(asked.as_deref(), Some("$-1"));
        for (text, wrong) in [
            ("[0x10]", "Expected value but found invalid number at character 2"),
            ("[01]", "Expected value but found invalid number at character 2"),
            ("[-inf]", "Expected value but found invalid number at character 2"),
            ("[nan]", "Expected value but found invalid token at character 2"),
        ] {
            let said = decoded(&client, text);
            assert!(said.starts_with(&format!("-ERR user_script:1: {wrong} script: ")), "{text}: {said}");
        }
        assert_eq!(decoded(&client, "[0.5,-0]"), "$8 [0.5,-0]");
    }

    #[test]
    fn one_text_is_decoded() {
        let client = Direct::new(&Servers::new(1, Default::default()));
        assert_eq!(client.say(&["EVAL", "return cjson.decode(12)", "0"]).as_deref(), Some(":12"));
        for (script, wrong) in [
            ("cjson.decode()", "bad argument #1 to 'decode' (expected 1 argument)"),
            ("cjson.decode('1', '2')", "bad argument #1 to 'decode' (expected 1 argument)"),
            ("cjson.decode(nil)", "bad argument #1 to 'decode' (string expected, got nil)"),
            ("cjson.decode({})", "bad argument #1 to 'decode' (string expected, got table)"),
        ] {
            let said = client.say(&["EVAL", script, "0"]).expect("it answers");
            assert!(said.starts_with(&format!("-ERR user_script:1: {wrong} script: ")), "{script}: {said}");
        }
    }
}
