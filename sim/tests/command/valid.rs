//! Whether a document is as `docs/src/schema.json` says.

use boon::{Compiler, Schemas};
use serde_json::Value;

const SCHEMA: &str = include_str!("../../../docs/src/schema.json");

/// The schema, as a document.
pub fn schema() -> Value {
    serde_json::from_str(SCHEMA).expect("the schema is JSON")
}

/// What a document lacks, or has otherwise; `of` is the name of its schema among `$defs`.
pub fn complaint(of: &str, document: &Value) -> Option<String> {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource("schema.json", schema()).expect("it is a schema");
    let compiled = compiler.compile(&format!("schema.json#/$defs/{of}"), &mut schemas);
    let compiled = compiled.unwrap_or_else(|error| panic!("{of}: {error:#}"));
    schemas.validate(document, compiled).err().map(|error| format!("{error:#}"))
}

/// Fails unless it is.
pub fn assert_valid(of: &str, document: &Value) {
    if let Some(why) = complaint(of, document) {
        panic!("{of}: {why}\n{document:#}");
    }
}
