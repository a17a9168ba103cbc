//! `math.random`.

use super::{convert, misused};
use mlua::{Lua, Value};
use std::sync::atomic::{AtomicU64, Ordering};

/// `math.random`: `()`, `(most)`, `(least, most)`, whose bounds are C's `int`s (`deps/lua/src/lmathlib.c` `math_random`).
pub fn random(lua: &Lua, dice: &AtomicU64, bounds: &[Value]) -> mlua::Result<f64> {
    let bound = |place: usize| -> mlua::Result<i32> {
        let given = &bounds[place - 1];
        match lua.coerce_number(given.clone())? {
            // What does not fit loses its upper bits, as it does in C.
            Some(number) => Ok(convert::whole(number) as i32),
            None => {
                let kind = given.type_name();
                let text = format!("bad argument #{place} to 'random' (number expected, got {kind})");
                Err(misused(lua, &text))
            }
        }
    };
    // SplitMix64.
    let state = dice.load(Ordering::Relaxed).wrapping_add(0x9e37_79b9_7f4a_7c15);
    dice.store(state, Ordering::Relaxed);
    let mut drawn = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let unit = ((drawn ^ (drawn >> 31)) >> 11) as f64 / (1_u64 << 53) as f64;
    let (least, most) = match bounds {
        [] => return Ok(unit),
        [_] => (1, bound(1)?),
        [_, _] => (bound(1)?, bound(2)?),
        _ => return Err(misused(lua, "wrong number of arguments")),
    };
    if least > most {
        let place = bounds.len();
        return Err(misused(lua, &format!("bad argument #{place} to 'random' (interval is empty)")));
    }
    let count = most.wrapping_sub(least).wrapping_add(1);
    Ok((unit * f64::from(count)).floor() + f64::from(least))
}

#[cfg(test)]
mod tests {
    use crate::serve::redis::Servers;
    use crate::serve::redis::direct::Direct;

    #[test]
    fn random_numbers_have_bounds_of_32_bits() {
        let client = Direct::new(&Servers::new(1, Default::default()));
        for (script, said) in [
            ("local r = math.random() return r >= 0 and r < 1", ":1"),
            ("local r = math.random(1, 2^31 - 1) return r >= 1 and r < 2^31", ":1"),
            ("local r = math.random(2^32 + 5) return r >= 1 and r <= 5", ":1"),
            ("return math.random(1.9, 1.1)", ":1"),
            ("return math.random(0.5, 0.6)", ":0"),
            ("return math.random('7', '7')", ":7"),
        ] {
            assert_eq!(client.say(&["EVAL", script, "0"]).as_deref(), Some(said), "{script}");
        }
        for (script, wrong) in [
            ("math.random(1, 2^40)", "bad argument #2 to 'random' (interval is empty)"),
            ("math.random(2^31)", "bad argument #1 to 'random' (interval is empty)"),
            ("math.random(5, 1)", "bad argument #2 to 'random' (interval is empty)"),
            ("math.random(0)", "bad argument #1 to 'random' (interval is empty)"),
            ("math.random(1, 1/0)", "bad argument #2 to 'random' (interval is empty)"),
            ("math.random('x')", "bad argument #1 to 'random' (number expected, got string)"),
            ("math.random(1, nil)", "bad argument #2 to 'random' (number expected, got nil)"),
            ("math.random(1, 2, 3)", "wrong number of arguments"),
        ] {
            let said = client.say(&["EVAL", script, "0"]).expect("it answers");
            assert!(said.starts_with(&format!("-ERR user_script:1: {wrong} script: ")), "{script}: {said}");
        }
    }
}
