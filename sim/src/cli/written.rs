//! Files and folders that options name to be written.

use clap::builder::{PathBufValueParser, TypedValueParser};
use std::path::{Path, PathBuf};

const NO_FILE: &str = "- is no name of a file, and does not stand for standard output here; ./- is a file";

/// Reads the name of one. What other programs take for standard output is none: results are printed there anyway.
pub fn named() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| if path == Path::new("-") { Err(NO_FILE) } else { Ok(path) })
}
