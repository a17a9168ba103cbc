//! The tokens that were printed last, for `@last`: a small file in the user's cache folder.

use super::BadCall;
use std::path::PathBuf;

/// The folder of the file, if it shall be another one; empty: tokens are not kept.
pub const FOLDER_VARIABLE: &str = "PICKLOCK_CACHE";

/// So many are kept.
const KEPT_MAX: usize = 500;

/// Keeps the tokens that a command prints; whether `@last` stands for the first of them now. It is a convenience: if it cannot
/// be had, nobody is bothered.
pub fn keep<'a>(tokens: impl IntoIterator<Item = &'a str>) -> bool {
    let tokens: Vec<&str> = tokens.into_iter().take(KEPT_MAX).collect();
    let Some(file) = file().filter(|_| !tokens.is_empty()) else { return false };
    if let Some(folder) = file.parent() {
        let _ = std::fs::create_dir_all(folder);
    }
    std::fs::write(file, tokens.join("\n") + "\n").is_ok()
}

/// What the token in this place, from 1, goes by.
pub fn name_of(nth: usize) -> String {
    if nth == 1 { "@last".to_owned() } else { format!("@last:{nth}") }
}

/// The token that `@last` and this stand for: nothing, or `:` and a number from 1.
pub fn token(nth: &str) -> Result<String, BadCall> {
    let place: usize = match nth.strip_prefix(':').map(str::parse) {
        None if nth.is_empty() => 1,
        Some(Ok(place)) if place > 0 => place,
        _ => {
            return Err(BadCall(format!(
                "@last{nth} names no token; @last does, and @last:2 the one after it"
            )));
        }
    };
    let none = || {
        let why = match std::env::var_os(FOLDER_VARIABLE) {
            Some(folder) if folder.is_empty() => format!("{FOLDER_VARIABLE} is empty, so that none is kept"),
            Some(_) | None => "no command has printed one here yet, or none could be kept".to_owned(),
        };
        BadCall(format!("there is no last token: {why}"))
    };
    let kept = file().and_then(|file| std::fs::read_to_string(file).ok()).ok_or_else(none)?;
    let count = kept.lines().count();
    match kept.lines().nth(place - 1) {
        Some(token) => Ok(token.to_owned()),
        None if count == 0 => Err(none()),
        None => Err(BadCall(format!("@last:{place}: the last command printed {count}"))),
    }
}

fn file() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let given = |name| variable(name).filter(|path| !path.as_os_str().is_empty());
    let folder = match variable(FOLDER_VARIABLE) {
        Some(_) => given(FOLDER_VARIABLE)?,
        None => match given("XDG_CACHE_HOME").or_else(|| given("LOCALAPPDATA")) {
            Some(caches) => caches,
            // Who has no home is given none.
            None => given("HOME").filter(|home| home.is_dir())?.join(".cache"),
        }
        .join("picklock"),
    };
    Some(folder.join("last"))
}
