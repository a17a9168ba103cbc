//! The words and signs of a statement (`Lexer.g`).

/// One of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Token {
    /// In small letters, as names without quotes and keywords are.
    Word(String),
    /// A name in double quotes.
    Quoted(String),
    Text(String),
    Integer(String),
    Float(String),
    Uuid(String),
    Hex(String),
    Sign(&'static str),
}

/// Longer ones first.
const SIGNS: [&str; 22] = [
    "<=", ">=", "!=", "(", ")", "[", "]", "{", "}", ",", ";", ".", ":", "?", "=", "<", ">", "*", "+", "-",
    "/", "%",
];

/// Cuts a statement into tokens.
///
/// # Errors
/// Something that no token begins with, or that does not end.
pub fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut rest = text;
    let mut tokens = Vec::new();
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { return Ok(tokens) };
        if rest.starts_with("--") || rest.starts_with("//") {
            rest = rest.find(['\n', '\r']).map_or("", |end| &rest[end..]);
            continue;
        }
        if let Some(comment) = rest.strip_prefix("/*") {
            let end = comment.find("*/").ok_or("a comment does not end: /*")?;
            rest = &comment[end + 2..];
            continue;
        }
        let (token, left) = match first {
            '\'' => {
                let (text, left) = quoted(rest, '\'')?;
                (Token::Text(text), left)
            }
            '"' => {
                let (text, left) = quoted(rest, '"')?;
                (Token::Quoted(text), left)
            }
            '$' if rest.starts_with("$$") => {
                let inside = &rest[2..];
                let end = inside.find("$$").ok_or("a text does not end: $$")?;
                (Token::Text(inside[..end].to_owned()), &inside[end + 2..])
            }
            _ if first.is_ascii_alphanumeric() => word(rest),
            _ => {
                let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
                let sign = sign.ok_or_else(|| format!("no viable alternative at character '{first}'"))?;
                (Token::Sign(sign), &rest[sign.len()..])
            }
        };
        tokens.push(token);
        rest = left;
    }
}

/// A text in quotes, where a quote is written twice.
fn quoted(from: &str, quote: char) -> Result<(String, &str), String> {
    let mut text = String::new();
    let mut rest = &from[1..];
    loop {
        let end = rest.find(quote).ok_or_else(|| format!("a text does not end: {quote}"))?;
        text.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix(quote) {
            Some(more) => {
                text.push(quote);
                rest = more;
            }
            None => return Ok((text, rest)),
        }
    }
}

/// What begins with a letter or a digit: a word, a number, bytes, or a UUID, which may begin with both.
fn word(rest: &str) -> (Token, &str) {
    if let Some(uuid) = rest.get(..36).filter(|text| is_uuid(text)) {
        let follows = rest[36..].starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_');
        if !follows {
            return (Token::Uuid(uuid.to_ascii_lowercase()), &rest[36..]);
        }
    }
    let end = |of: &str, is_part: fn(char) -> bool| of.find(|next| !is_part(next)).unwrap_or(of.len());
    let is_part = |next: char| next.is_ascii_alphanumeric() || next == '_';
    let word = &rest[..end(rest, is_part)];
    if word.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return (Token::Word(word.to_ascii_lowercase()), &rest[word.len()..]);
    }
    if let Some(hex) = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        return (Token::Hex(hex.to_owned()), &rest[word.len()..]);
    }
    let digits = end(rest, |next| next.is_ascii_digit());
    let mut length = digits;
    let after = &rest[length..];
    if let Some(fraction) = after.strip_prefix('.') {
        length += 1 + end(fraction, |next| next.is_ascii_digit());
    }
    let after = &rest[length..];
    if after.starts_with(['e', 'E']) {
        let signed = usize::from(after[1..].starts_with(['+', '-']));
        let exponent = end(&after[1 + signed..], |next| next.is_ascii_digit());
        if exponent > 0 {
            length += 1 + signed + exponent;
        }
    }
    let number = rest[..length].to_owned();
    let token = if length == digits { Token::Integer(number) } else { Token::Float(number) };
    (token, &rest[length..])
}

fn is_uuid(text: &str) -> bool {
    text.is_ascii()
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_texts_numbers_and_uuids_are_told_apart() {
        let text = "Ab \"Ab\" 'it''s' 12 -1.5e3 0xFf 5132b130-ae79-11e4-ab27-0800200c9a66 $$q$$ -- no\n<= ?";
        let all = tokens(text);
        assert_eq!(
            all,
            Ok(vec![
                Token::Word("ab".into()),
                Token::Quoted("Ab".into()),
                Token::Text("it's".into()),
                Token::Integer("12".into()),
                Token::Sign("-"),
                Token::Float("1.5e3".into()),
                Token::Hex("Ff".into()),
                Token::Uuid("5132b130-ae79-11e4-ab27-0800200c9a66".into()),
                Token::Text("q".into()),
                Token::Sign("<="),
                Token::Sign("?"),
            ])
        );
        for open in ["'a", "\"a", "/* a", "$$a", "@"] {
            assert!(tokens(open).is_err(), "{open}");
        }
    }

    #[test]
    fn no_text_is_too_strange_to_be_cut() {
        proptest!(|(text in ".{0,80}")| {
            let _cut = tokens(&text);
        });
    }
}
