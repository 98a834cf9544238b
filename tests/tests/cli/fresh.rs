//! `new`: what it writes is in order, runs at once, and is never written over anything.

use crate::bench::Bench;

#[test]
fn each_kind_works_at_once() {
    let cases = [
        ("python", "text=one two three", "words", 3),
        ("shell", "number=-12", "square", 144),
        ("process", "text=one two three", "words", 3),
        ("binary", "number=12", "square", 144),
        ("rust", "number=-12", "square", 144),
    ];
    for (kind, argument, member, expected) in cases {
        let bench = Bench::new(&format!("new-{kind}"));
        let written = bench.run(&["tools", "new", kind, "demo.first"]);
        assert_eq!(written.code, Some(0), "{kind}: {written:?}");
        assert!(
            written.err.contains("gantry call --tools tools demo.first"),
            "{kind}: {written:?}"
        );
        for file in written.out.lines() {
            assert!(bench.path().join(file).is_file(), "{kind}: {file}");
        }
        let checked = bench.run(&["tools", "check", "tools"]);
        assert_eq!(checked.code, Some(0), "{kind}: {checked:?}");
        let called = bench.run(&["call", "--tools", "tools", "demo.first", argument]);
        assert_eq!(called.json()[member], expected, "{kind}: {called:?}");
        let again = bench.run(&["tools", "new", kind, "demo.first"]);
        assert_eq!(again.code, Some(1), "{kind}: {again:?}");
        assert!(again.err.contains("exists already"), "{kind}: {again:?}");
    }
}

#[test]
fn each_kind_can_answer_with_content() {
    let cases = [
        ("python", "text=one two three", "3 words\n"),
        ("shell", "number=-12", "144\n"),
        ("process", "text=one two three", "3 words\n"),
        ("binary", "number=12", "144\n"),
        ("rust", "number=-12", "144\n"),
    ];
    for (kind, argument, expected) in cases {
        let bench = Bench::new(&format!("new-content-{kind}"));
        let written = bench.run(&["tools", "new", kind, "demo.first", "--output", "content"]);
        assert_eq!(written.code, Some(0), "{kind}: {written:?}");
        let checked = bench.run(&["tools", "check", "tools"]);
        assert_eq!(checked.code, Some(0), "{kind}: {checked:?}");
        let called = bench.run(&["call", "--tools", "tools", "demo.first", argument]);
        assert_eq!(called.out, expected, "{kind}: {called:?}");
    }
}

#[test]
fn it_goes_where_tools_are() {
    let bench = Bench::new("new-where");
    bench.write("gantry.json", "{\"tools\": [\"./mine\"]}");
    let run = bench.run(&["tools", "new", "shell", "demo.here"]);
    assert!(bench.path().join("mine/demo_here.sh").is_file(), "{run:?}");
    assert!(run.err.contains("gantry call demo.here number=12"), "the folder is known: {run:?}");
    let called = bench.run(&["call", "demo.here", "number=3"]);
    assert_eq!(called.json()["square"], 9, "{called:?}");
    let run = bench.run(&["tools", "new", "shell", "demo.there", "--dir", "other"]);
    assert!(bench.path().join("other/demo_there.sh").is_file(), "{run:?}");
    let wrong = bench.run(&["tools", "new", "shell", "Demo"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
}

#[test]
fn without_a_compiler_it_says_what_to_run() {
    let bench = Bench::new("new-compiler");
    let words = ["tools", "new", "binary", "demo.first"];
    let output = bench.command(&words).env("PATH", bench.path()).output().expect("it runs");
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{err}");
    assert!(err.contains("run: cc -O2 -Wall -o demo_first demo_first.c"), "{err}");
}
