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

/// A number with a fraction or without, as `strtod` reads it, and all of it (`src/util.c` `string2d`); no NaN.
pub fn float(bytes: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(bytes).ok()?;
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_number = unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.');
    match unsigned.to_ascii_lowercase().as_str() {
        "inf" | "infinity" if text.starts_with('-') => Some(f64::NEG_INFINITY),
        "inf" | "infinity" => Some(f64::INFINITY),
        _ if is_number => text.parse().ok(),
        _ => None,
    }
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
}
