//! Squares a whole number. What it takes and gives is in module_tool.tool.json.
//! Compile after a change: rustc --edition=2021 -O -o module_tool module_tool.rs

use std::io::stdin;
use std::process::ExitCode;

fn main() -> ExitCode {
    // One line of JSON comes in: {"arguments": {"number": 12}}
    let mut request = String::new();
    if let Err(error) = stdin().read_line(&mut request) {
        eprintln!("the request cannot be read: {error}");
        return ExitCode::FAILURE;
    }
    let Some(number) = number(&request) else {
        eprintln!("the request has no number");
        return ExitCode::FAILURE;
    };
    // One line of JSON goes out; everything else belongs on standard error.
    println!("{{\"square\": {}}}", number * number);
    ExitCode::SUCCESS
}

/// The schema has made sure that the number is there and is whole, so this is enough. For texts,
/// make a cargo project of this and take `serde_json`.
fn number(request: &str) -> Option<i64> {
    let after = request.split_once("\"number\"")?.1.split_once(':')?.1.trim_start();
    let end = after.find(|it: char| !it.is_ascii_digit() && it != '-').unwrap_or(after.len());
    after[..end].parse().ok()
}
