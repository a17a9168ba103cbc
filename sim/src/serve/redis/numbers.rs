//! Numbers in bytes, as the server reads and writes them.

/// The number that these bytes are, written as the server writes numbers (`src/util.c` `string2ll`).
pub fn integer(bytes: &[u8]) -> Option<i64> {
    if bytes.len() > 20 {
        return None;
    }
    // As it would be printed: no sign but a minus, no zeros in front, and no zero below zero.
    let is_printed = match bytes.strip_prefix(b"-").unwrap_or(bytes) {
        [b'0'] => bytes.len() == 1,
        [first, ..] => (b'1'..=b'9').contains(first),
        [] => false,
    };
    match bytes {
        // So few digits are no number too large.
        [b'0'..=b'9', ..] if is_printed && bytes.len() <= 18 => bytes.iter().try_fold(0, |number, digit| {
            digit.is_ascii_digit().then(|| 10 * number + i64::from(digit - b'0'))
        }),
        _ => std::str::from_utf8(bytes).ok().filter(|_| is_printed)?.parse().ok(),
    }
}

/// Writes a number.
pub fn write_integer(number: i64, to: &mut Vec<u8>) {
    let (mut digits, mut from, mut rest) = ([0; 20], 20, number.unsigned_abs());
    loop {
        from -= 1;
        digits[from] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        to.push(b'-');
    }
    to.extend_from_slice(&digits[from..]);
}

/// A number with a fraction or without, as `strtod` reads it, and all of it (`src/util.c` `string2d`); no NaN, and none that is too
/// large or too close to zero for its bits.
pub fn float(bytes: &[u8]) -> Option<f64> {
    let first = bytes.first().filter(|first| !is_space(**first));
    let number = first.and(float_of_length(bytes, bytes.len()));
    number.filter(|number| !number.is_nan() && !is_out_of_range(bytes, *number))
}

/// A number as the real server has it in 80 bits (`src/util.c` `string2ld`), in 64: what is too large for these is infinite, and
/// what is too close to zero is that.
pub fn wide_float(bytes: &[u8]) -> Option<f64> {
    float(bytes).or_else(|| {
        let (number, read) = float_in_front(bytes);
        let is_whole = read == bytes.len() && bytes.first().is_some_and(|first| !is_space(*first));
        (is_whole && !number.is_nan() && fits_80_bits(signed(bytes).1)).then_some(number)
    })
}

/// Whether these digits, with a point and an exponent, are no more and no less than 80 bits can be: some 10^±4932.
fn fits_80_bits(digits: &[u8]) -> bool {
    let length = mantissa(digits, u8::is_ascii_digit);
    let (digits, power) = digits.split_at(length);
    let power = power.get(1..).and_then(|power| std::str::from_utf8(power).ok()?.parse::<i64>().ok());
    let whole = count(digits, |byte| *byte != b'.') as i64;
    let zeros = count(digits, |byte| matches!(byte, b'0' | b'.')) as i64;
    // The first digit that counts is in front of the point, or behind it.
    let magnitude = if zeros > whole { whole + 1 - zeros } else { whole - zeros };
    (-4_950..=4_932).contains(&power.unwrap_or(0).saturating_add(magnitude))
}

/// Whether this is what became of a number that is another one: `1e400`, `1e-400`.
fn is_out_of_range(bytes: &[u8], number: f64) -> bool {
    let (_, digits) = signed(bytes);
    let is_hexadecimal = digits.len() > 1 && digits[1].eq_ignore_ascii_case(&b'x');
    let exponent = if is_hexadecimal { b'p' } else { b'e' };
    let mut mantissa = digits.iter().take_while(|byte| !byte.eq_ignore_ascii_case(&exponent));
    let is_word = || !digits.first().is_some_and(|first| first.is_ascii_digit() || *first == b'.');
    match number {
        0.0 => mantissa.any(|byte| {
            (b'1'..=b'9').contains(byte)
                || is_hexadecimal && byte.is_ascii_alphabetic() && !byte.eq_ignore_ascii_case(&b'x')
        }),
        number => number.is_infinite() && !is_word(),
    }
}

/// A number as `strtod` reads it from a C string (`src/t_zset.c` `zslParseRange`): nothing at all is zero, and there may be
/// blanks in front; no NaN.
pub fn float_of_text(bytes: &[u8]) -> Option<f64> {
    float_of_length(bytes, text_length(bytes)).filter(|number| !number.is_nan())
}

/// The number that `strtod` reads if it reads so many bytes.
fn float_of_length(bytes: &[u8], length: usize) -> Option<f64> {
    let (number, read) = float_in_front(bytes);
    (read == length).then_some(number)
}

/// A number as `strtoul` reads it from a C string, if it starts with no blank (`src/db.c` `parseScanCursorOrReply`): nothing at
/// all is zero, and what is below zero is counted back from the end.
pub fn cursor(bytes: &[u8]) -> Option<u64> {
    let bytes = &bytes[..text_length(bytes)];
    if bytes.is_empty() {
        return Some(0);
    }
    let (is_negative, digits) = signed(bytes);
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let number: u64 = std::str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok()?;
    Some(if is_negative { number.wrapping_neg() } else { number })
}

/// What C's `isspace` says.
fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

/// How long this is as a C string: up to the first NUL.
fn text_length(bytes: &[u8]) -> usize {
    count(bytes, |byte| *byte != 0)
}

/// How many bytes in front are such.
fn count(bytes: &[u8], is_such: fn(&u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| is_such(byte)).count()
}

/// Whether there is a minus in front, and what follows the sign.
fn signed(bytes: &[u8]) -> (bool, &[u8]) {
    match bytes {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, bytes),
    }
}

/// The number that C's `strtod` reads from the front, and how many bytes that is: 0 if there is none.
pub fn float_in_front(bytes: &[u8]) -> (f64, usize) {
    let blanks = count(bytes, |byte| is_space(*byte));
    let (is_negative, rest) = signed(&bytes[blanks..]);
    let starts = |word: &[u8]| rest.get(..word.len()).is_some_and(|front| front.eq_ignore_ascii_case(word));
    let (number, read) = if starts(b"infinity") {
        (f64::INFINITY, 8)
    } else if starts(b"inf") {
        (f64::INFINITY, 3)
    } else if starts(b"nan") {
        (f64::NAN, 3)
    } else if starts(b"0x") {
        // Without a digit behind it, it is a zero before an `x`.
        hexadecimal(&rest[2..]).map_or((0.0, 1), |(number, read)| (number, read + 2))
    } else {
        decimal(rest)
    };
    match read {
        0 => (0.0, 0),
        read => (if is_negative { -number } else { number }, bytes.len() - rest.len() + read),
    }
}

fn decimal(bytes: &[u8]) -> (f64, usize) {
    let digits = mantissa(bytes, u8::is_ascii_digit);
    if digits == 0 {
        return (0.0, 0);
    }
    let read = digits + exponent(&bytes[digits..], b'e');
    let number = std::str::from_utf8(&bytes[..read]).ok().and_then(|text| text.parse().ok());
    (number.unwrap_or(0.0), read)
}

/// What follows `0x`.
fn hexadecimal(bytes: &[u8]) -> Option<(f64, usize)> {
    let digits = mantissa(bytes, u8::is_ascii_hexdigit);
    if digits == 0 {
        return None;
    }
    let places = bytes[..digits].iter().position(|byte| *byte == b'.').map_or(0, |point| digits - point - 1);
    let values = bytes[..digits].iter().filter_map(|byte| char::from(*byte).to_digit(16));
    let number = values.fold(0.0, |number, value| number * 16.0 + f64::from(value));
    let length = exponent(&bytes[digits..], b'p');
    let power = bytes[digits..digits + length].get(1..).and_then(|power| std::str::from_utf8(power).ok());
    let power: i32 = power.and_then(|power| power.parse().ok()).unwrap_or(0);
    let power = power.clamp(-4_000, 4_000).saturating_sub(4 * places as i32);
    Some((number * 2_f64.powi(power), digits + length))
}

/// How long the digits are in front, with a point among them or none; 0: there is no digit.
fn mantissa(bytes: &[u8], is_digit: fn(&u8) -> bool) -> usize {
    let whole = count(bytes, is_digit);
    let fraction = match bytes.get(whole) {
        Some(b'.') => 1 + count(&bytes[whole + 1..], is_digit),
        _ => 0,
    };
    if whole == 0 && fraction <= 1 { 0 } else { whole + fraction }
}

/// How long the exponent is in front, with its letter; 0: there is none.
fn exponent(bytes: &[u8], letter: u8) -> usize {
    if !bytes.first().is_some_and(|first| first.eq_ignore_ascii_case(&letter)) {
        return 0;
    }
    let sign = usize::from(matches!(bytes.get(1), Some(b'+' | b'-')));
    match count(&bytes[1 + sign..], u8::is_ascii_digit) {
        0 => 0,
        digits => 1 + sign + digits,
    }
}

/// As `INCRBYFLOAT` writes it (`src/util.c` `ld2string`): without an exponent, and with 17 places at most. The real server has
/// numbers of 80 bits; of one of 64 the shortest text that reads as the same number is the nearest to what it writes.
pub fn human(number: f64) -> String {
    const PLACES_MAX: usize = 17;
    // 2^53: from here on no number has a fraction.
    const WHOLE: f64 = 9_007_199_254_740_992.0;
    if number.abs() >= WHOLE {
        return format!("{number:.0}");
    }
    let shortest = number.to_string();
    let places = shortest.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let text = match places > PLACES_MAX {
        true => trimmed(&format!("{number:.PLACES_MAX$}")).to_owned(),
        false => shortest,
    };
    if text == "-0" { "0".to_owned() } else { text }
}

/// As `addReplyDouble` of 7.0 writes it: `%.17g`, and `inf` (`src/networking.c`).
pub fn shortest(number: f64) -> String {
    general(number, 17)
}

/// As C's `%.*g`.
pub fn general(number: f64, digits: usize) -> String {
    if number.is_nan() {
        return if number.is_sign_negative() { "-nan" } else { "nan" }.to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{:.*e}", digits - 1, number);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs());
    }
    let places = (digits as i32 - 1 - exponent).max(0) as usize;
    trimmed(&format!("{number:.places$}")).to_owned()
}

fn trimmed(number: &str) -> &str {
    match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_c_writes_them() {
        assert_eq!(general(3.0, 17), "3");
        assert_eq!(general(0.1, 17), "0.10000000000000001");
        assert_eq!(general(1e22, 17), "1e+22");
        assert_eq!(general(1.5e-7, 14), "1.5e-07");
        assert_eq!(general(123456789012345680.0, 14), "1.2345678901235e+17");
        assert_eq!(general(-0.5, 17), "-0.5");
        assert_eq!(general(0.0, 17), "0");
        assert_eq!(general(f64::NEG_INFINITY, 17), "-inf");
    }

    #[test]
    fn an_integer_is_written_in_one_way() {
        assert_eq!(integer(b"-7"), Some(-7));
        for text in ["", "+7", "007", "7 ", "-0", "9223372036854775808", "x"] {
            assert_eq!(integer(text.as_bytes()), None, "{text}");
        }
    }
    #[test]
    fn a_float_is_read_as_c_reads_it() {
        for (text, number) in [
            ("1", 1.0),
            ("-1.5", -1.5),
            ("+.5", 0.5),
            ("5.", 5.0),
            ("1e3", 1_000.0),
            ("1E-2", 0.01),
            ("0x10", 16.0),
            ("-0x1.8p1", -3.0),
            ("0xa", 10.0),
            ("inf", f64::INFINITY),
            ("-Infinity", f64::NEG_INFINITY),
        ] {
            assert_eq!(float(text.as_bytes()), Some(number), "{text}");
            assert_eq!(float_of_text(format!("\t {text}\0x").as_bytes()), Some(number), "{text}");
        }
        for text in
            ["", " 1", "1 ", "1x", "1e", "1e+", "0x", "0xg", ".", "-", "+", "nan", "infinite", "--1", "1\0"]
        {
            assert_eq!(float(text.as_bytes()), None, "{text}");
        }
        // Too large, or too close to zero.
        for text in ["1e400", "-1e400", "1e-400", ".1E-999", "0x1p2000", "-0x1p-2000"] {
            assert_eq!(float(text.as_bytes()), None, "{text}");
            assert!(float_of_text(text.as_bytes()).is_some(), "{text}");
        }
        assert_eq!(["0e400", "-0", "0x0p9", "0.0e-400"].map(|text| float(text.as_bytes())), [Some(0.0); 4]);
        assert_eq!(float_of_text(b""), Some(0.0));
        for text in [" ", "1 ", "nan", "-", "."] {
            assert_eq!(float_of_text(text.as_bytes()), None, "{text}");
        }
        assert_eq!(float_in_front(b"12,13"), (12.0, 2));
        assert_eq!(float_in_front(b"1e+x"), (1.0, 1));
        assert_eq!(float_in_front(b"0xg"), (0.0, 1));
        assert_eq!(float_in_front(b"x"), (0.0, 0));
    }

    #[test]
    fn a_cursor_is_read_as_c_reads_it() {
        for (text, number) in [
            ("", 0),
            ("0", 0),
            ("+5", 5),
            ("007", 7),
            ("-1", u64::MAX),
            ("18446744073709551615", u64::MAX),
            ("7\0x", 7),
        ] {
            assert_eq!(cursor(text.as_bytes()), Some(number), "{text}");
        }
        for text in ["-", "+", " 1", "1x", "0x1", "--1", "18446744073709551616", "-18446744073709551616"] {
            assert_eq!(cursor(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_sum_is_written_without_an_exponent() {
        for (number, text) in [
            (10.6, "10.6"),
            (5e3, "5000"),
            (1e17, "100000000000000000"),
            (1e20, "100000000000000000000"),
            (1e-5, "0.00001"),
            (1e-20, "0"),
            (-0.0, "0"),
            (-1e-20, "0"),
            (-1.5, "-1.5"),
        ] {
            assert_eq!(human(number), text, "{number}");
        }
    }
}
