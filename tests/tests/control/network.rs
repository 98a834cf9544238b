//! `--url`: a gateway over the network, with a token that was given for it and never in clear text.

use std::fs;

use crate::gateway::{Gateway, bench, gantry};

#[tokio::test]
async fn a_token_is_given_or_nothing_is_sent() {
    let bench = bench("network");
    let gateway = Gateway::start(&bench, &[], &[]).await;
    let address = gateway.address.clone().expect("it listens");
    let url = format!("http://{address}");
    let token = fs::read_to_string(bench.folder.join("gantry/admin-token")).expect("a token");
    let given = [("GANTRY_ADMIN_TOKEN", token.as_str())];
    type Case<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], i32, &'a str);
    let cases: [Case<'_>; 9] = [
        (&["--url", &url], &[], 2, "GANTRY_ADMIN_TOKEN"),
        (&["--url", &url, "--token", &token], &[], 0, "no servers"),
        (&["--url", &address], &given, 0, "no servers"),
        (&["--url", &url, "--token", "wrong"], &[], 5, "admin-token"),
        (&["--url", &url, "--instance", "1"], &given, 2, "different gateways"),
        (&["--url", "http://192.0.2.1"], &given, 5, "clear text"),
        (&["--url", "http://192.0.2.1:4268", "--token", &token], &[], 5, "clear text"),
        (&["--url", "http://gateway.example"], &given, 5, "clear text"),
        (&["--url", "https://127.0.0.1"], &given, 2, "TLS"),
    ];
    for (words, variables, code, expected) in cases {
        let run = gantry(&bench, &[&["status"], words].concat(), variables).await;
        assert_eq!(run.code, Some(code), "{words:?}: {run:?}");
        assert!(run.err.contains(expected), "{words:?}: {run:?}");
        assert!(!run.err.contains(&token), "{words:?}: {run:?}");
    }
}

#[tokio::test]
async fn nobody_answers_at_a_url() {
    let bench = bench("network-none");
    let closed = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", closed.local_addr().expect("an address"));
    drop(closed);
    for words in
        [&["status"][..], &["logs", "a"], &["trust"], &["token", "list"], &["tools", "pin"]]
    {
        let words = [words, &["--url", &url, "--token", "t"]].concat();
        let run = gantry(&bench, &words, &[]).await;
        assert_eq!(run.code, Some(6), "{words:?}: {run:?}");
        assert!(run.err.contains(&url), "{words:?}: {run:?}");
    }
}
