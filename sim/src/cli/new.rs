//! `picklock new NAME`: a crate with a lock of one's own, to begin with.
//!
//! ```text
//!   NAME/Cargo.toml          depends on the checkout that this picklock was built from, or the one that is named
//!   NAME/src/lib.rs          the lock: sim/examples/own_lock.rs, without its main
//!   NAME/src/main.rs         the whole command over it
//!   NAME/tests/promises.rs   what it promises
//!   NAME/Cargo.lock          the checkout's: with the versions that picklock is tested with
//! ```

use super::screen::Screen;
use super::{BadCall, Ending};
use crate::registry::Locks;
use clap::Args;
use std::path::{Path, PathBuf};

/// Writes a crate with a lock of your own to begin with: the lock, its tests, and the whole command over it
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct New {
    /// The folder to write; its last part is the name of the crate and of the lock
    #[arg(value_name = "NAME")]
    folder: PathBuf,
    /// A checkout of picklock for the crate to depend on; the one that this command was built from unless given
    #[arg(long, value_name = "DIR")]
    picklock: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  picklock new my-lock
  picklock new locks/billing

The lock is a SET NX PX on the simulated Redis, in about 100 lines, to be changed into yours. cargo test runs its tests; \
cargo run --release -- matrix --lock my-lock is this whole command with your lock in it.";

const LOCK: &str = include_str!("../../examples/own_lock.rs");
const MANIFEST: &str = include_str!("new/Cargo.toml.txt");
const MAIN: &str = include_str!("new/main.rs.txt");
const TESTS: &str = include_str!("new/promises.rs");

/// Where the source of this crate was when it was built.
const BUILT_FROM: &str = env!("CARGO_MANIFEST_DIR");

/// Longer names fit no table.
const NAME_MAX: usize = 40;

impl New {
    /// Writes it.
    pub fn run(self, locks: &Locks, screen: &mut Screen) -> Result<Ending, BadCall> {
        let name = self.name()?;
        if locks.iter().any(|lock| lock.name() == name) {
            return Err(BadCall(format!("new {name}: picklock has a lock of that name; my-{name} would do")));
        }
        let source = self.source()?;
        let files = files(name, &source);
        let folder = self.folder.as_path();
        write(folder, &files)
            .map_err(|error| BadCall(format!("{}: it cannot be written: {error}", folder.display())))?;
        let lock = source.parent().map(|checkout| checkout.join("Cargo.lock"));
        // Without it cargo chooses versions by itself.
        let is_locked = lock.is_some_and(|lock| std::fs::copy(lock, folder.join("Cargo.lock")).is_ok());
        let written: Vec<&str> =
            files.iter().map(|(file, _)| *file).chain(is_locked.then_some("Cargo.lock")).collect();
        screen.text(&said(folder, name, &written));
        screen.document(&serde_json::json!({
            "name": name,
            "folder": folder,
            "picklock": source,
            "files": written,
        }));
        Ok(Ending::Fine)
    }

    /// The name of the crate and of the lock.
    fn name(&self) -> Result<&str, BadCall> {
        let shown = self.folder.display();
        let name = self.folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if let Some(why) = unfit(name) {
            return Err(BadCall(format!("new {shown}: {why}")));
        }
        match self.folder.symlink_metadata() {
            Ok(_) => Err(BadCall(format!("new {shown}: it is there already; nothing was written"))),
            Err(_) => Ok(name),
        }
    }

    /// The folder of this package in the checkout that the crate is to depend on.
    fn source(&self) -> Result<PathBuf, BadCall> {
        let (source, whose) = match &self.picklock {
            Some(checkout) => (checkout.join("sim"), format!("--picklock {}", checkout.display())),
            None => (PathBuf::from(BUILT_FROM), BUILT_FROM.to_owned()),
        };
        let is_ours = std::fs::read_to_string(source.join("Cargo.toml"))
            .is_ok_and(|manifest| manifest.lines().any(|line| line.trim() == "name = \"picklock-sim\""));
        let source = source.canonicalize().ok().filter(|_| is_ours);
        source.ok_or_else(|| {
            BadCall(format!(
                "{whose}: there is no source of picklock for the crate to depend on; --picklock DIR names a checkout of it"
            ))
        })
    }
}

/// Why nothing can be called so.
fn unfit(name: &str) -> Option<String> {
    let fits = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_".contains(letter);
    if name.is_empty()
        || !name.starts_with(|letter: char| letter.is_ascii_lowercase())
        || !name.chars().all(fits)
    {
        return Some(format!(
            "{name:?} is no name for a crate and a lock; it takes small letters, digits, - and _, a letter first, as in my-lock"
        ));
    }
    if name.len() > NAME_MAX {
        return Some(format!("{name} is too long for a name; it takes {NAME_MAX} letters at most"));
    }
    let is_taken = TAKEN.contains(&name.replace('-', "_").as_str());
    is_taken.then(|| {
        format!("a crate called {name} would shadow another one, or is a word of Rust; {name}-lock would do")
    })
}

/// Words of the language, and crates that the new one uses or that cargo keeps for itself.
const TAKEN: [&str; 60] = [
    "abstract",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "const",
    "continue",
    "crate",
    "do",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "picklock",
    "picklock_model",
    "picklock_properties",
    "picklock_sim",
    "priv",
    "proc_macro",
    "pub",
    "ref",
    "return",
    "self",
    "serde",
    "static",
    "struct",
    "super",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
    "core",
    "std",
    "test",
];

/// The files of a crate of this name, each with where it lies in it.
fn files(name: &str, source: &Path) -> [(&'static str, String); 5] {
    let crate_name = name.replace('-', "_");
    let named = |text: &str| text.replace("own_lock", &crate_name).replace("my-lock", name);
    let path = toml_string(&source.display().to_string());
    let manifest =
        MANIFEST.replacen("\"own_lock\"", &format!("{name:?}"), 1).replacen("\"PICKLOCK\"", &path, 1);
    [
        ("Cargo.toml", manifest),
        ("src/lib.rs", named(&lock_alone())),
        ("src/main.rs", named(MAIN)),
        ("tests/promises.rs", named(TESTS)),
        (".gitignore", "/target\n".to_owned()),
    ]
}

/// The example without what makes it a command: how to call it, and its main.
fn lock_alone() -> String {
    let head = "//! A lock of one's own on one of picklock's stores: what everybody writes first, `SET NX PX`, and a plain `DEL` at \
                the end.\n\n";
    let code = LOCK.split_once("\nuse ").map_or(LOCK, |(_, code)| code);
    let code = code.split_once("\nfn main()").map_or(code, |(code, _)| code);
    format!("{head}use {}", code.replace("use std::process::ExitCode;\n", ""))
}

/// A string as TOML has it: with backslashes and quotes told.
fn toml_string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn write(folder: &Path, files: &[(&str, String)]) -> std::io::Result<()> {
    if let Some(parent) = folder.parent() {
        std::fs::create_dir_all(parent)?;
    }
    // Whoever writes the same at the same time is not written over.
    std::fs::create_dir(folder)?;
    for (file, text) in files {
        let path = folder.join(file);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, text)?;
    }
    Ok(())
}

fn said(folder: &Path, name: &str, files: &[&str]) -> String {
    format!(
        "wrote {}: {}\n  try it      cd {} && cargo test\n  ask it      cargo run --release -- matrix --lock {name}\n\
         The first build takes about six minutes on two cores, and so does a release build, most of it for dependencies and the models.\n\
         Tests alone need less: its Cargo.toml says how (default-features = false).\n",
        folder.display(),
        files.join(", "),
        folder.display(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_that_cargo_and_the_tables_take() {
        for fit in ["my-lock", "billing", "a1", "lease_2"] {
            assert_eq!(unfit(fit), None, "{fit}");
        }
        for unfit_name in
            ["", "1lock", "-x", "My-Lock", "a b", "lock.rs", "схема", "fn", "serde", "picklock-sim", "test"]
        {
            assert!(unfit(unfit_name).is_some(), "{unfit_name}");
        }
        assert!(unfit(&"a".repeat(41)).is_some());
    }

    /// What the example is made of, and nothing else: what builds and is tested here builds there.
    #[test]
    fn the_crate_is_the_example() {
        let files = files("billing-lock", Path::new("C:\\picklock\\sim"));
        let text = |name: &str| &files.iter().find(|(file, _)| *file == name).expect("it is written").1;
        let code = |text: &str| -> Vec<String> {
            let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
            text.lines().filter(is_code).map(str::to_owned).collect()
        };
        let (lock, main) = (code(text("src/lib.rs")), code(text("src/main.rs")));
        for line in code(LOCK) {
            let line = line.replace("my-lock", "billing-lock");
            assert!(lock.contains(&line) || main.contains(&line), "{line} is lost");
        }
        let example: Vec<String> =
            code(LOCK).iter().map(|line| line.replace("my-lock", "billing-lock")).collect();
        assert!(lock.iter().all(|line| example.contains(line)), "{lock:?}");
        assert!(!lock.iter().any(|line| line.contains("ExitCode")) && main.len() < 10);
        assert!(text("tests/promises.rs").contains("use billing_lock::registered;"));
        let manifest = text("Cargo.toml");
        assert!(manifest.contains("name = \"billing-lock\""), "{manifest}");
        assert!(manifest.contains("picklock-sim = { path = \"C:\\\\picklock\\\\sim\" }"), "{manifest}");
    }
}
