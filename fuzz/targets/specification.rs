//! No document makes reading or checking panic, problems come in the order of their lines, and what
//! is written of a tool that was read is read as the same tool.
#![no_main]

use std::path::Path;

use gantry_providers::scripts::manifest::Manifest;
use gantry_providers::tool_spec::{check, read, write};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let path = Path::new("/tmp/MCP_TOOL_SPECIFICATION.md");
    let problems = check(path, data);
    assert!(problems.is_sorted_by_key(|problem| problem.line));
    for tool in read(path, data, &|name| Some(format!("a value for {name}"))).into_iter().flatten()
    {
        if has_plain_variables(&tool) {
            let value = |name: &str| tool.env.iter().find(|it| it.0 == name).map(|it| it.1.clone());
            let mut again = read(path, write(&tool).as_bytes(), &value);
            // A value is written as a reference, and what came from a reference is a secret.
            if let Some(Ok(again)) = again.first_mut() {
                again.secrets.clone_from(&tool.secrets);
            }
            assert_eq!(again, [Ok(tool)]);
        }
    }
});

/// Whether every variable can be referred to, and only once.
fn has_plain_variables(tool: &Manifest) -> bool {
    let is_plain = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let comes_once = |name: &str| tool.env.iter().filter(|it| it.0 == name).count() == 1;
    tool.env.iter().all(|(name, _)| is_plain(name) && comes_once(name))
}
