//! What is saved comes into force; what is broken does not.

use std::path::{Path, PathBuf};

use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::JoinHandle;

use crate::config::reload::{Reload, Variable};
use crate::config::{self, Config};

/// A folder with a configuration that is watched.
struct Scene {
    folder: PathBuf,
    /// The names of the servers, each time they are put in force.
    applied: Receiver<String>,
    task: JoinHandle<()>,
}

impl Scene {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let folder = std::env::temp_dir().join(format!("gantry-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        for (file, text) in files {
            std::fs::write(folder.join(file), text).expect("a file");
        }
        let (sender, applied) = channel(64);
        let file = folder.join("gantry.json");
        let reload = match files {
            [] => Reload::searching(folder.clone(), None, nothing),
            _ => Reload::new(&Config::read(&file, &|_| None).expect("in order")),
        };
        let task = tokio::spawn(reload.run(nothing, move |config| {
            let names: Vec<_> = config.servers.iter().map(|it| it.name.as_str()).collect();
            let _ = sender.try_send(names.join(" "));
        }));
        Self { folder, applied, task }
    }

    /// Saves as editors do: a new file takes the place of the old one.
    fn save(&self, file: &str, text: &str) {
        let beside = self.folder.join("saved~");
        std::fs::write(&beside, text).expect("a file");
        std::fs::rename(beside, self.folder.join(file)).expect("it is replaced");
    }

    /// Waits until just these servers are in force. A file that is looked at while it is written
    /// may bring the same ones twice.
    async fn until(&mut self, expected: &str) {
        while self.applied.recv().await.expect("it is watched") != expected {}
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.task.abort();
        let _ = std::fs::remove_dir_all(Path::new(&self.folder));
    }
}

#[tokio::test]
async fn the_users_file_comes_into_force_beside_that_of_the_project() {
    let mut scene = Scene::new("reload-layers", &[]);
    scene.task.abort();
    let folder = scene.folder.clone();
    std::fs::write(folder.join("gantry.json"), ONE.replace("more", "own")).expect("a file");
    std::fs::write(folder.join("own.json"), "{}").expect("a file");
    let environment: Variable = |name| {
        // The test's own folder is named by its process.
        let folder =
            std::env::temp_dir().join(format!("gantry-reload-layers-{}", std::process::id()));
        (name == "XDG_CONFIG_HOME").then(|| folder.join("user/deep").display().to_string())
    };
    let layers = config::layers(None, &environment, &folder);
    let config = Config::read_layers(&layers, &environment).expect("in order");
    let reload = Reload::searching(folder.clone(), Some(&config), environment);
    let state = reload.state();
    let (sender, applied) = channel(64);
    scene.applied = applied;
    scene.task = tokio::spawn(reload.run(environment, move |config| {
        let names: Vec<_> = config.servers.iter().map(|it| it.name.as_str()).collect();
        let _ = sender.try_send(names.join(" "));
    }));
    let user = folder.join("user/deep/gantry/gantry.json");
    assert!(state.files().contains(&user) && !state.is_reloading(), "{state:?}");
    std::fs::create_dir_all(user.parent().expect("a folder")).expect("a folder");
    std::fs::write(&user, r#"{"mcpServers": {"one": {"command": "y"}, "two": {"command": "x"}}}"#)
        .expect("a file");
    assert!(state.is_reloading());
    scene.until("one two").await;
    scene.save("gantry.json", "{");
    while state.problem().is_none() {
        tokio::task::yield_now().await;
    }
    assert!(state.problem().is_some_and(|it| it.contains("gantry.json:1")), "{state:?}");
    scene.save("gantry.json", "{}");
    scene.until("one two").await;
}

fn nothing(_: &str) -> Option<String> {
    None
}

const ONE: &str = r#"{"mcpServers": {"one": {"command": "x"}}, "include": "more.json"}"#;

#[tokio::test]
async fn what_is_saved_comes_into_force() {
    let files = [("gantry.json", ONE), ("more.json", "{}")];
    let mut scene = Scene::new("reload", &files);
    scene.save("more.json", r#"{"mcpServers": {"two": {"command": "x"}}}"#);
    scene.until("one two").await;
    scene.save("gantry.json", r#"{"mcpServers": {"three": {"command": "x"}}}"#);
    scene.until("three").await;
    // In place, and in a file that is named for the first time.
    std::fs::write(scene.folder.join("new.json"), "{}").expect("a file");
    std::fs::write(scene.folder.join("gantry.json"), r#"{"include": "new.json"}"#).expect("a file");
    scene.until("").await;
    scene.save("new.json", r#"{"mcpServers": {"four": {"command": "x"}}}"#);
    scene.until("four").await;
}

#[tokio::test]
async fn what_is_broken_does_not() {
    let files = [("gantry.json", ONE), ("more.json", "{}")];
    let mut scene = Scene::new("reload-broken", &files);
    scene.save("gantry.json", r#"{"include": "not-there-yet.json"}"#);
    scene.save("not-there-yet.json", r#"{"mcpServers": {"late": {"command": "x"}}}"#);
    scene.until("late").await;
    scene.save("gantry.json", "{");
    scene.save("gantry.json", r#"{"mcpServers": {"mended": {"command": "x"}}}"#);
    scene.until("mended").await;
}

#[tokio::test]
async fn a_first_one_comes_into_force() {
    let mut scene = Scene::new("reload-first", &[]);
    scene.save("anvil.json", r#"{"mcp": {"servers": {"one": {"command": ["x"]}}}}"#);
    scene.until("one").await;
    scene.save("anvil.json", r#"{"mcp": {"servers": {"two": {"command": ["x"]}}}}"#);
    scene.until("two").await;
}
