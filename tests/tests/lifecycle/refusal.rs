//! What keeps the program from starting: an exit code, a reason, and what to do.

use std::os::unix::fs::PermissionsExt;

use tokio::net::TcpListener;

use crate::program::{End, Program, state};

async fn run(arguments: &[&str]) -> End {
    let mut program = Program::start(&state("refusal"), arguments);
    program.end_input();
    program.end().await
}

fn check(end: &End, code: i32, words: &[&str]) {
    assert_eq!(end.code, Some(code), "{}", end.log);
    for word in words {
        assert!(end.log.contains(word), "`{word}` is not in:\n{}", end.log);
    }
}

#[tokio::test]
async fn a_port_in_use() {
    let taken = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = taken.local_addr().expect("an address").to_string();
    let end = run(&["serve", "--listen", &address]).await;
    check(&end, 1, &["error", &address, "hint", "127.0.0.1:0"]);
}

#[tokio::test]
async fn addresses_that_others_can_reach() {
    for address in ["0.0.0.0:0", "[::]:0"] {
        let end = run(&["serve", "--listen", address]).await;
        // A machine without IPv6 cannot even try.
        let word = if end.log.contains("cannot listen") { "cannot listen" } else { "refusing" };
        check(&end, 1, &["error", word]);
    }
}

#[tokio::test]
async fn addresses_that_are_none() {
    for address in ["nowhere", "127.0.0.1", "127.0.0.1:99999", ""] {
        let end = run(&["serve", "--listen", address]).await;
        check(&end, 1, &["error", "hint"]);
    }
}

#[tokio::test]
async fn words_it_does_not_know() {
    for arguments in [&["fly"][..], &["serve", "--fly"], &["serve", "--listen"]] {
        check(&run(arguments).await, 2, &["error"]);
    }
}

#[tokio::test]
async fn a_state_it_cannot_use() {
    let home = state("broken");
    std::fs::create_dir_all(home.join("gantry")).expect("it can be made");
    std::fs::write(home.join("gantry/key"), b"short").expect("it can be written");
    let program = Program::start(&home, &["serve", "--listen", "127.0.0.1:0"]);
    check(&program.end().await, 3, &["error", "key", "hint"]);

    let home = state("file");
    std::fs::write(home.join("gantry"), b"in the way").expect("it can be written");
    let program = Program::start(&home, &["serve", "--listen", "127.0.0.1:0"]);
    check(&program.end().await, 3, &["error", "hint", "XDG_STATE_HOME"]);

    let home = state("open");
    std::fs::create_dir_all(home.join("gantry")).expect("it can be made");
    std::fs::write(home.join("gantry/key"), [7; 32]).expect("it can be written");
    let everyone = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(home.join("gantry/key"), everyone).expect("it is ours");
    let (program, _) = Program::serve(&home).await;
    program.stop().await;
}
