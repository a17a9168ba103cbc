//! Patterns of names (`src/util.c` `stringmatchlen`).

/// Whether a name is of this pattern: `?`, `*`, `[a-z]`, `[^a]`, and `\` before a character that stands for itself.
pub fn matches(pattern: &[u8], name: &[u8]) -> bool {
    // Where the last star stood, and up to where it has taken the name: all that ever has to be taken back.
    let (mut at, mut in_name) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while in_name < name.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at, in_name));
            at += 1;
            continue;
        }
        match one(&pattern[at.min(pattern.len())..], name[in_name]) {
            Some(length) => {
                at += length;
                in_name += 1;
            }
            None => match star {
                Some((of_star, taken)) => {
                    (at, in_name) = (of_star + 1, taken + 1);
                    star = Some((of_star, in_name));
                }
                None => return false,
            },
        }
    }
    pattern[at.min(pattern.len())..].iter().all(|byte| *byte == b'*')
}

/// How much of the pattern stands for this one byte; `None`: it does not.
fn one(pattern: &[u8], byte: u8) -> Option<usize> {
    match pattern {
        [] => None,
        [b'?', ..] => Some(1),
        [b'\\', escaped, ..] => (*escaped == byte).then_some(2),
        [b'[', rest @ ..] => {
            let (is_not, mut at) = if rest.first() == Some(&b'^') { (true, 1) } else { (false, 0) };
            let mut is_in = false;
            loop {
                match &rest[at.min(rest.len())..] {
                    [] => break,
                    [b']', ..] => {
                        at += 1;
                        break;
                    }
                    [b'\\', escaped, ..] => {
                        is_in |= *escaped == byte;
                        at += 2;
                    }
                    [from, b'-', to, ..] => {
                        is_in |= (*from.min(to)..=*from.max(to)).contains(&byte);
                        at += 3;
                    }
                    [only, ..] => {
                        is_in |= *only == byte;
                        at += 1;
                    }
                }
            }
            (is_in != is_not).then_some(at + 1)
        }
        [only, ..] => (*only == byte).then_some(1),
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_are_those_of_redis() {
        for (pattern, name, is_of) in [
            ("*", "", true),
            ("a*c", "abc", true),
            ("a*c*e", "abcde", true),
            ("a*c", "abd", false),
            ("h?llo", "hello", true),
            ("h[ae]llo", "hallo", true),
            ("h[^e]llo", "hello", false),
            ("h[a-c]llo", "hbllo", true),
            ("h\\*llo", "h*llo", true),
            ("h\\*llo", "hxllo", false),
            ("", "a", false),
            ("a", "", false),
        ] {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), is_of, "{pattern} {name}");
        }
    }
}
