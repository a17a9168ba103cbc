//! Words for a shell: what is printed to be pasted means the same there.

use std::path::Path;

/// The words as one line.
pub fn line<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    words.into_iter().map(word).collect::<Vec<_>>().join(" ")
}

/// A path as one word.
pub fn path(path: &Path) -> String {
    word(&path.to_string_lossy())
}

/// In quotes where it needs some.
fn word(word: &str) -> String {
    match shlex::try_quote(word) {
        Ok(quoted) => quoted.into_owned(),
        Err(_) => unreachable!("no argument and no path has a byte that is 0"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_means_the_words_that_it_was_made_of() {
        let words =
            ["sh", "-c", "exec python3 a.py; echo '$HOME' \"x\"", "", "my dir/plan.json", "--lease", "3"];
        let line = line(words);
        assert_eq!(shlex::split(&line).as_deref(), Some(&words.map(str::to_owned)[..]), "{line}");
        assert_eq!(super::line(["redis_py.py", "--rounds", "2"]), "redis_py.py --rounds 2");
        assert_eq!(path(Path::new("my dir/run.html")), "'my dir/run.html'");
    }
}
