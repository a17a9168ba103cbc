//! Lua BitOp: numbers as 32 bits (`deps/lua/src/lua_bit.c`).

use super::misused;
use mlua::{Lua, MultiValue, Table, Value};

/// 2^52 + 2^51: what is added to it is rounded to a whole number, whose lowest bits are those of the sum.
const ROUNDING: f64 = 6_755_399_441_055_744.0;

/// The arguments of one of the functions.
struct Given<'a> {
    lua: &'a Lua,
    name: &'static str,
    values: MultiValue,
}

impl Given<'_> {
    /// An argument, the first is 1, modulo 2^32 and with its sign.
    fn bits(&self, place: usize) -> mlua::Result<i32> {
        let value = self.values.get(place - 1);
        match self.lua.coerce_number(value.cloned().unwrap_or_default())? {
            Some(number) => Ok((number + ROUNDING).to_bits() as u32 as i32),
            None => {
                let kind = match value {
                    None => "no value",
                    Some(Value::LightUserData(_)) => "userdata",
                    Some(value) => value.type_name(),
                };
                let text = format!("bad argument #{place} to '{}' (number expected, got {kind})", self.name);
                Err(misused(self.lua, &text))
            }
        }
    }
}

/// The table `bit`.
pub fn library(lua: &Lua) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    let set = |name: &'static str, run: Box<dyn Fn(Given) -> mlua::Result<i32> + Send>| {
        let run = move |lua: &Lua, values| run(Given { lua, name, values });
        table.set(name, lua.create_function(run)?)
    };
    let folded = |name, fold: fn(i32, i32) -> i32| {
        let run = move |given: Given| {
            let mut sum = given.bits(1)?;
            for place in (2..=given.values.len()).rev() {
                sum = fold(sum, given.bits(place)?);
            }
            Ok(sum)
        };
        set(name, Box::new(run))
    };
    let shifted = |name, shift: fn(i32, u32) -> i32| {
        set(name, Box::new(move |given| Ok(shift(given.bits(1)?, given.bits(2)? as u32 & 31))))
    };
    set("tobit", Box::new(|given| given.bits(1)))?;
    set("bnot", Box::new(|given| Ok(!given.bits(1)?)))?;
    folded("band", |left, right| left & right)?;
    folded("bor", |left, right| left | right)?;
    folded("bxor", |left, right| left ^ right)?;
    shifted("lshift", |number, by| ((number as u32) << by) as i32)?;
    shifted("rshift", |number, by| ((number as u32) >> by) as i32)?;
    shifted("arshift", |number, by| number >> by)?;
    shifted("rol", i32::rotate_left)?;
    shifted("ror", i32::rotate_right)?;
    set("bswap", Box::new(|given| Ok(given.bits(1)?.swap_bytes())))?;
    table.set("tohex", lua.create_function(|lua, values| hex(&Given { lua, name: "tohex", values }))?)?;
    Ok(table)
}

fn hex(given: &Given) -> mlua::Result<String> {
    let number = given.bits(1)?;
    let digits = if given.values.len() < 2 { 8 } else { given.bits(2)? };
    let all = match digits < 0 {
        true => format!("{number:08X}"),
        false => format!("{number:08x}"),
    };
    Ok(all[8 - digits.unsigned_abs().min(8) as usize..].to_owned())
}
