//! The Lua scripts of locks, known by their text: no Lua runs here.
//!
//! A script is recognised by its normal form: comments, line breaks, blanks, the kind of quotes, semicolons and the case of
//! what stands in quotes do not matter.

/// What a known script does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Script {
    /// Deletes `KEYS[1]` if it holds `ARGV[1]`.
    CompareAndDelete,
    /// The same, but says -1 if there is no such key (redsync).
    CompareAndDeleteOrMissing,
    /// Has `KEYS[1]` live for `ARGV[2]` milliseconds if it holds `ARGV[1]`.
    CompareAndPExpire,
    /// The same with seconds.
    CompareAndExpire,
    /// Sets `KEYS[1]` to `ARGV[1]` for `ARGV[2]` milliseconds if it holds that, or nothing (redlock-rb).
    ExtendOrCreate,
    /// Sets `KEYS[1]` to `ARGV[1]` if there is no such key, and counts `KEYS[2]` up.
    SetAndIncr,
    /// The same, for `ARGV[2]` milliseconds.
    SetForAndIncr,
}

impl Script {
    /// How many keys and how many further arguments it looks at.
    pub fn arity(self) -> (usize, usize) {
        match self {
            Script::CompareAndDelete | Script::CompareAndDeleteOrMissing => (1, 1),
            Script::CompareAndPExpire | Script::CompareAndExpire | Script::ExtendOrCreate => (1, 2),
            Script::SetAndIncr => (2, 1),
            Script::SetForAndIncr => (2, 2),
        }
    }

    /// The script of this text, if it is a known one.
    pub fn of(text: &[u8]) -> Option<Script> {
        let form = normal_form(std::str::from_utf8(text).ok()?);
        KNOWN.iter().find(|(known, _)| normal_form(known) == form).map(|(_, script)| *script)
    }
}

/// What is said of any other script.
pub const UNKNOWN: &str = "ERR picklock runs no Lua: it knows the scripts of locks by their text (compare-and-delete, \
    compare-and-pexpire, compare-and-expire, extend-or-create, set-and-incr), and this is none of them";

/// The scripts as their sources have them: document 001 and its extension; redis-py `lock.py`; redsync `mutex.go`;
/// redlock-rb `client.rb`.
const KNOWN: [(&str, Script); 9] = [
    (
        "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end",
        Script::CompareAndDelete,
    ),
    (
        "local token = redis.call('get', KEYS[1]) if not token or token ~= ARGV[1] then return 0 end \
         redis.call('del', KEYS[1]) return 1",
        Script::CompareAndDelete,
    ),
    (
        "local val = redis.call('get', KEYS[1]) if val == ARGV[1] then return redis.call('del', KEYS[1]) \
         elseif val == false then return -1 else return 0 end",
        Script::CompareAndDeleteOrMissing,
    ),
    (
        "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) \
         else return 0 end",
        Script::CompareAndPExpire,
    ),
    (
        "local token = redis.call('get', KEYS[1]) if not token or token ~= ARGV[1] then return 0 end \
         redis.call('pexpire', KEYS[1], ARGV[2]) return 1",
        Script::CompareAndPExpire,
    ),
    (
        "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('expire', KEYS[1], ARGV[2]) \
         else return 0 end",
        Script::CompareAndExpire,
    ),
    (
        "if redis.call('exists', KEYS[1]) == 0 or redis.call('get', KEYS[1]) == ARGV[1] \
         then return redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) end",
        Script::ExtendOrCreate,
    ),
    (
        "if redis.call('set', KEYS[1], ARGV[1], 'NX') then return redis.call('incr', KEYS[2]) else return false end",
        Script::SetAndIncr,
    ),
    (
        "if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('incr', KEYS[2]) \
         else return false end",
        Script::SetForAndIncr,
    ),
];

/// The script's tokens, one blank between two.
fn normal_form(text: &str) -> String {
    let mut form = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut last_is_word = false;
    while let Some(next) = rest.next() {
        let is_word = next.is_alphanumeric() || next == '_';
        match next {
            '-' if rest.peek() == Some(&'-') => {
                rest.by_ref().find(|character| *character == '\n');
            }
            '\'' | '"' => {
                form.push_str(" '");
                form.extend(
                    rest.by_ref().take_while(|character| *character != next).flat_map(char::to_lowercase),
                );
                form.push('\'');
            }
            _ if next.is_whitespace() || next == ';' => {}
            _ => {
                if !(is_word && last_is_word) {
                    form.push(' ');
                }
                form.push(next);
            }
        }
        last_is_word = is_word;
    }
    form
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_known_script_is_itself() {
        for (text, script) in KNOWN {
            assert_eq!(Script::of(text.as_bytes()), Some(script));
        }
    }

    #[test]
    fn layout_quotes_and_the_case_of_commands_do_not_matter() {
        let text = "\n  -- releases\n  if redis.call(\"GET\",KEYS[1])==ARGV[1]\n  then\n    return \
                    redis.call(\"DEL\",KEYS[1]);\n  else return 0\n  end\n";
        assert_eq!(Script::of(text.as_bytes()), Some(Script::CompareAndDelete));
    }

    #[test]
    fn what_differs_in_a_word_is_another_script() {
        for text in [
            "if redis.call('get', KEYS[1]) == ARGV[2] then return redis.call('del', KEYS[1]) else return 0 end",
            "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 1 end",
            "ifredis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end",
            "return 1",
            "",
            "'",
        ] {
            assert_eq!(Script::of(text.as_bytes()), None, "{text}");
        }
    }
}
