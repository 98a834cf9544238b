//! The encrypted file: what comes back, and what no longer does.

use std::os::unix::fs::PermissionsExt;

use crate::secrets::*;

/// A state directory of a test's own, gone with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("gantry-vault-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder");
        std::fs::write(path.join("key"), [7; 32]).expect("a key");
        Self(path)
    }

    fn vault(&self) -> Vault {
        Vault::new(&self.0, &|_| None)
    }

    fn with_key(&self, key: &str) -> Vault {
        Vault::new(&self.0, &|name| (name == "GANTRY_SECRETS_KEY").then(|| key.to_owned()))
    }

    fn edit(&self, edit: impl FnOnce(String) -> String) {
        let file = self.0.join("secrets.json");
        let text = std::fs::read_to_string(&file).expect("it is there");
        std::fs::write(file, edit(text)).expect("it can be written");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn read(vault: &Vault, name: &str) -> Option<String> {
    let found = vault.get(name).expect("it can be read");
    found.map(|secret| secret.expose().to_owned())
}

#[test]
fn what_is_kept_comes_back_and_cannot_be_read_in_the_file() {
    let folder = Folder::new("kept");
    assert_eq!(read(&folder.vault(), "a"), None);
    for (name, text) in [("a", "one"), ("b", "two two"), ("a", "three é")] {
        assert_eq!(folder.vault().set(name, &Secret::new(text)).expect("kept"), Place::File);
        assert_eq!(read(&folder.vault(), name).as_deref(), Some(text));
    }
    let names: Vec<_> = folder.vault().names().expect("names").into_iter().map(|it| it.0).collect();
    assert_eq!(names, ["a", "b"]);
    let file = folder.0.join("secrets.json");
    assert_eq!(file.metadata().expect("it is there").permissions().mode() & 0o777, 0o600);
    assert!(!std::fs::read_to_string(&file).expect("it is text").contains("two"));
    assert!(folder.vault().remove("a").expect("removed"));
    assert!(!folder.vault().remove("a").expect("it is gone"));
    assert_eq!(read(&folder.vault(), "a"), None);
    assert_eq!(read(&folder.vault(), "b").as_deref(), Some("two two"));
}

#[test]
fn another_key_a_changed_text_and_exchanged_ones_do_not_open() {
    let folder = Folder::new("spoilt");
    for (name, text) in [("a", "one"), ("b", "two")] {
        folder.vault().set(name, &Secret::new(text)).expect("kept");
    }
    let spoilt = |vault: &Vault| vault.get("a").expect_err("it does not open").to_string();
    assert!(spoilt(&folder.with_key("other")).contains("`gantry secret set a`"));
    folder.edit(|text| text.replace("\"a\"", "\"c\"").replace("\"b\"", "\"a\""));
    assert!(spoilt(&folder.vault()).contains("cannot be decrypted"), "exchanged");
    folder.edit(|_| "{\"version\":1,\"secrets\":{\"a\":\"AAAA\"}}".to_owned());
    assert!(spoilt(&folder.vault()).contains("cannot be decrypted"), "changed");
    folder.edit(|_| "{".to_owned());
    assert!(spoilt(&folder.vault()).contains("is not a file of secrets"), "not JSON");
}

#[test]
fn a_key_of_ones_own_needs_no_file() {
    let folder = Folder::new("own-key");
    std::fs::remove_file(folder.0.join("key")).expect("it goes");
    let missing = folder.vault().set("a", &Secret::new("one")).expect_err("no key");
    assert!(missing.to_string().contains("cannot be read"), "{missing}");
    folder.with_key("mine").set("a", &Secret::new("one")).expect("kept");
    assert_eq!(read(&folder.with_key("mine"), "a").as_deref(), Some("one"));
}

#[test]
fn names_lead_nowhere_else() {
    let folder = Folder::new("names");
    for name in ["", "../a", "a/b", "a b", "é", "${x}"] {
        assert!(matches!(folder.vault().get(name), Err(VaultError::Name(_))), "{name}");
    }
}
