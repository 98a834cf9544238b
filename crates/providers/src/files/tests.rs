//! Files in a gateway: listed, read, completed, watched.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gantry_files::{RelativePath, Version, file_uri};
use gantry_gateway::{
    Call, CallEvent, Caller, Event, Gateway, Interest, Reply, ServerInfo, Watched,
};
use gantry_protocol::{Method, RawJson};
use serde_json::{Value, json};

use super::{FileSettings, Files, RootSettings};

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(20);

struct Fixture {
    folder: PathBuf,
    gateway: Arc<Gateway>,
    files: Files,
    follow: tokio::task::JoinHandle<()>,
}

impl Fixture {
    async fn new(names: &[&str]) -> Self {
        let folder =
            std::env::temp_dir().join(format!("gantry-resources-{:016x}", rand::random::<u64>()));
        fs::create_dir_all(&folder).expect("a folder");
        let folder = folder.canonicalize().expect("a folder");
        for name in names {
            let at = folder.join(name);
            fs::create_dir_all(at.parent().expect("a parent")).expect("a folder");
            fs::write(at, format!("content of {name}")).expect("a file");
        }
        let settings = FileSettings { max_read: 64, ..FileSettings::default() };
        let files = Files::open(vec![RootSettings::new(&folder)], settings).expect("a root");
        let gateway = Gateway::builder(ServerInfo::new("test", "1.0.0")).build();
        files.publish_to(gateway.attach(Arc::new(files.clone())));
        let following = files.clone();
        let follow = tokio::spawn(async move { following.follow().await });
        Self { folder, gateway, files, follow }
    }

    fn uri(&self, name: &str) -> String {
        file_uri(&self.folder, &RelativePath::new(name).expect("a path"))
    }

    async fn call(&self, method: Method, params: Value) -> Result<Value, String> {
        let params = RawJson::from(params);
        let call = Call::new(method, params, Arc::new(Caller::new("local")));
        let CallEvent::Done(outcome) = self.gateway.start(call).next_event().await else {
            panic!("not the end of the call")
        };
        match outcome {
            Ok(Reply::Result(result)) => Ok(result.read().expect("an object")),
            Ok(Reply::Page(page)) => Ok(page.result().read().expect("an object")),
            Ok(other) => panic!("not a result: {other:?}"),
            Err(error) => Err(error.public),
        }
    }

    async fn read(&self, uri: &str) -> Result<Value, String> {
        let result = self.call(Method::ResourcesRead, json!({"uri": uri})).await?;
        Ok(result["contents"][0].clone())
    }

    /// The names in the list, as soon as they are these.
    async fn lists(&self, expected: &[&str]) {
        let listed = async {
            loop {
                let list = self.call(Method::ResourcesList, json!({})).await.expect("a list");
                let resources = list["resources"].as_array().expect("resources");
                let mut names: Vec<_> = resources
                    .iter()
                    .map(|it| it["name"].as_str().expect("a name").to_owned())
                    .collect();
                names.sort();
                if names == expected {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, listed)
            .await
            .unwrap_or_else(|_| panic!("not listed: {expected:?}"));
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.follow.abort();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[tokio::test]
async fn the_first_list_has_all_files() {
    let fixture = Fixture::new(&["a.txt", "b/c.md", ".hidden", "größe #1.txt"]).await;
    // Not asked twice: the first list waits for the scan.
    let list = fixture.call(Method::ResourcesList, json!({})).await.expect("a list");
    let resources = list["resources"].as_array().expect("resources");
    let names: Vec<_> = resources.iter().map(|it| it["name"].clone()).collect();
    assert_eq!(names, ["a.txt", "b/c.md", "größe #1.txt"]);
    assert_eq!(resources[0]["mimeType"], "text/plain");
    assert_eq!(resources[0]["size"], "content of a.txt".len());
    assert!(resources[0]["annotations"]["lastModified"].as_str().expect("a time").ends_with('Z'));
    for resource in resources {
        let uri = resource["uri"].as_str().expect("a URI");
        let text = format!("content of {}", resource["name"].as_str().expect("a name"));
        assert_eq!(fixture.read(uri).await.expect("contents")["text"], text);
    }
    let templates = fixture.call(Method::ResourceTemplatesList, json!({})).await.expect("a list");
    let template = format!("file://{}/{{+path}}", fixture.folder.display());
    assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], template);
}

#[tokio::test]
async fn reads() {
    let fixture = Fixture::new(&["a.txt", ".hidden"]).await;
    fs::write(fixture.folder.join("binary.txt"), [0xff, 0, 1]).expect("a file");
    fs::write(fixture.folder.join("large.log"), "0123456789".repeat(10)).expect("a file");
    let hidden = fixture.read(&fixture.uri(".hidden")).await.expect("not listed, but there");
    assert_eq!(hidden["text"], "content of .hidden");
    assert_eq!(
        hidden["_meta"]["gantry/file"]["version"],
        Version::of_content(b"content of .hidden").as_str()
    );
    let binary = fixture.read(&fixture.uri("binary.txt")).await.expect("contents");
    assert_eq!((&binary["blob"], &binary["text"]), (&json!("/wAB"), &Value::Null));
    let part =
        fixture.read(&format!("{}#bytes=95-", fixture.uri("large.log"))).await.expect("contents");
    assert_eq!(part["text"], "56789");
    assert_eq!(part["_meta"]["gantry/file"]["size"], 100);
    let cases = [
        (
            fixture.uri("large.log"),
            "100 bytes exceed the limit of 64 bytes; read a range of it (such as",
        ),
        (fixture.uri("no.txt"), "there is no such file"),
        (format!("{}#line=1", fixture.uri("a.txt")), "#bytes=START-END"),
        (format!("file://{}/../secret", fixture.folder.display()), "dot segment"),
        ("file:///etc/passwd".to_owned(), "/etc/passwd"),
    ];
    for (uri, expected) in cases {
        let error = fixture.read(&uri).await.expect_err("an error");
        assert!(error.contains(expected), "{uri}: {error}");
    }
}

#[tokio::test]
async fn lists_follow_the_folder() {
    let fixture = Fixture::new(&["a.txt", "b/c.txt"]).await;
    fixture.lists(&["a.txt", "b/c.txt"]).await;
    fs::write(fixture.folder.join("new.txt"), "x").expect("a file");
    fixture.lists(&["a.txt", "b/c.txt", "new.txt"]).await;
    fs::create_dir_all(fixture.folder.join("d/e")).expect("folders");
    fs::write(fixture.folder.join("d/e/deep.txt"), "x").expect("a file");
    fixture.lists(&["a.txt", "b/c.txt", "d/e/deep.txt", "new.txt"]).await;
    fs::rename(fixture.folder.join("b"), fixture.folder.join("z")).expect("a rename");
    fixture.lists(&["a.txt", "d/e/deep.txt", "new.txt", "z/c.txt"]).await;
    fs::remove_dir_all(fixture.folder.join("d")).expect("removed");
    fixture.lists(&["a.txt", "new.txt", "z/c.txt"]).await;
    fs::write(fixture.folder.join(".gitignore"), "z/\n").expect("rules");
    fixture.lists(&["a.txt", "new.txt"]).await;
    assert_eq!(fixture.files.count(), 2);
}

#[tokio::test]
async fn watchers_hear_of_a_thousand_changes() {
    let names: Vec<_> = (0..1000).map(|number| format!("{number:04}.txt")).collect();
    let fixture = Fixture::new(&names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    fixture.call(Method::ResourcesList, json!({})).await.expect("a list");
    let watched = Watched::default();
    for name in &names {
        watched.add(&fixture.uri(name), names.len()).expect("there is room");
    }
    let interest = Interest { resources_watched: Arc::new(watched), ..Interest::default() };
    let mut subscription = fixture.gateway.subscribe(interest, &Arc::new(Caller::new("local")));
    for name in &names {
        fs::write(fixture.folder.join(name), "changed").expect("a file");
    }
    let mut missing: std::collections::BTreeSet<_> =
        names.iter().map(|name| fixture.uri(name)).collect();
    let all = async {
        while !missing.is_empty() {
            if let Some(Event::ResourceUpdated { uri, .. }) = subscription.next().await {
                missing.remove(&*uri);
            }
        }
    };
    let heard = tokio::time::timeout(PATIENCE, all).await;
    assert!(heard.is_ok(), "{} changes were not reported", missing.len());
}

#[tokio::test]
async fn paths_are_completed() {
    let fixture = Fixture::new(&["src/main.rs", "src/lib.rs", "readme.md"]).await;
    fixture.lists(&["readme.md", "src/lib.rs", "src/main.rs"]).await;
    let template = format!("file://{}/{{+path}}", fixture.folder.display());
    let cases = [
        ("", json!(["readme.md", "src/lib.rs", "src/main.rs"])),
        ("src/", json!(["src/lib.rs", "src/main.rs"])),
        ("src/m", json!(["src/main.rs"])),
        ("x", json!([])),
    ];
    for (typed, expected) in cases {
        let params = json!({
            "ref": {"type": "ref/resource", "uri": template},
            "argument": {"name": "path", "value": typed},
        });
        let result = fixture.call(Method::Complete, params).await.expect("a completion");
        assert_eq!(result["completion"]["values"], expected, "{typed:?}");
    }
}
