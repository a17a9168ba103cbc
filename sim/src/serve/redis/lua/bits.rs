//! Lua BitOp: numbers as 32 bits.

use mlua::{Lua, Table, Variadic};

/// The number modulo 2^32, and with its sign.
fn bits(number: f64) -> i32 {
    match number.is_finite() {
        // As the library does it: rounded to the nearest, the even one of two.
        true => number.round_ties_even().rem_euclid(4_294_967_296.0) as u32 as i32,
        false => 0,
    }
}

/// The table `bit`.
pub fn library(lua: &Lua) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    let folded = |fold: fn(i32, i32) -> i32| {
        lua.create_function(move |_, (first, rest): (f64, Variadic<f64>)| {
            Ok(rest.iter().fold(bits(first), |sum, next| fold(sum, bits(*next))))
        })
    };
    let shifted = |shift: fn(i32, u32) -> i32| {
        lua.create_function(move |_, (number, by): (f64, f64)| Ok(shift(bits(number), bits(by) as u32 & 31)))
    };
    table.set("tobit", lua.create_function(|_, number: f64| Ok(bits(number)))?)?;
    table.set("bnot", lua.create_function(|_, number: f64| Ok(!bits(number)))?)?;
    table.set("band", folded(|left, right| left & right)?)?;
    table.set("bor", folded(|left, right| left | right)?)?;
    table.set("bxor", folded(|left, right| left ^ right)?)?;
    table.set("lshift", shifted(|number, by| ((number as u32) << by) as i32)?)?;
    table.set("rshift", shifted(|number, by| ((number as u32) >> by) as i32)?)?;
    table.set("arshift", shifted(|number, by| number >> by)?)?;
    table.set("rol", shifted(i32::rotate_left)?)?;
    table.set("ror", shifted(i32::rotate_right)?)?;
    table.set("bswap", lua.create_function(|_, number: f64| Ok(bits(number).swap_bytes()))?)?;
    table.set("tohex", lua.create_function(hex)?)?;
    Ok(table)
}

fn hex(_: &Lua, (number, digits): (f64, Option<f64>)) -> mlua::Result<String> {
    let digits = digits.map_or(8, bits);
    let all = match digits < 0 {
        true => format!("{:08X}", bits(number)),
        false => format!("{:08x}", bits(number)),
    };
    Ok(all[8 - digits.unsigned_abs().min(8) as usize..].to_owned())
}
