//! Files that are read whole: nothing else than files, for a device has no end, and a pipe may never begin.

use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::path::Path;

/// Refuses what is there and is no regular file: a device, a pipe, a folder. What is not there may be written.
///
/// # Errors
/// If it is none.
pub fn refuse_other_than_files(path: &Path) -> Result<()> {
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => Err(Error::new(ErrorKind::InvalidInput, "it is a folder, not a file")),
        Ok(there) if !there.is_file() => {
            Err(Error::new(ErrorKind::InvalidInput, "it is a device or a pipe, not a file"))
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// What is in a file.
///
/// # Errors
/// If it is no regular file, or cannot be read.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    refuse_other_than_files(path)?;
    fs::read(path)
}

/// The text in a file.
///
/// # Errors
/// If it is no regular file, cannot be read, or is no text.
pub fn read_text(path: &Path) -> Result<String> {
    refuse_other_than_files(path)?;
    fs::read_to_string(path)
}
