//! Sealed texts open for their purpose, with their key, unchanged, and not otherwise.

use crate::seal::{Purpose, Seal};

#[test]
fn only_the_same_text_opens() {
    let seal = Seal::new(Some([7; 32]));
    let sealed = seal.seal(Purpose::Session, b"agreed").unwrap();
    let open = |text: &str| seal.open(Purpose::Session, text);
    assert_eq!(open(&sealed).as_deref(), Some(&b"agreed"[..]));
    for place in 0..sealed.len() {
        let mut changed = sealed.clone().into_bytes();
        changed[place] = if changed[place] == b'A' { b'B' } else { b'A' };
        assert_eq!(open(std::str::from_utf8(&changed).unwrap()), None, "changed at {place}");
        assert_eq!(open(&sealed[..place]), None, "cut at {place}");
    }
    for other in [format!("{sealed}A"), format!("{sealed}="), format!(" {sealed}")] {
        assert_eq!(open(&other), None, "{other}");
    }
}

#[test]
fn only_the_same_purpose_and_key_open() {
    let (seal, other) = (Seal::new(Some([7; 32])), Seal::new(Some([8; 32])));
    let sealed = seal.seal(Purpose::Session, b"agreed").unwrap();
    assert_eq!(seal.open(Purpose::RequestState, &sealed), None);
    assert_eq!(other.open(Purpose::Session, &sealed), None);
    assert_eq!(Seal::new(None).open(Purpose::Session, &sealed), None);
    let again = Seal::new(Some([7; 32])).open(Purpose::Session, &sealed);
    assert_eq!(again.as_deref(), Some(&b"agreed"[..]), "after a restart");
}

#[test]
fn one_text_is_never_sealed_the_same_way_twice() {
    let seal = Seal::new(None);
    let sealed: std::collections::HashSet<_> =
        (0..100).map(|_| seal.seal(Purpose::Session, b"agreed")).collect();
    assert_eq!(sealed.len(), 100);
}

#[test]
fn what_is_sealed_at_a_face_opens_only_there() {
    let main = Seal::new(Some([7; 32]));
    let virtual_servers = [
        &main,
        &main.for_virtual_server("a"),
        &main.for_virtual_server("b"),
        &main.for_virtual_server(""),
    ];
    for (place, virtual_server) in virtual_servers.iter().enumerate() {
        let sealed = virtual_server.seal(Purpose::Session, b"text").unwrap();
        let opens = virtual_servers.map(|other| other.open(Purpose::Session, &sealed).is_some());
        let expected: Vec<bool> = (0..virtual_servers.len()).map(|other| other == place).collect();
        assert_eq!(opens.to_vec(), expected, "sealed at {place}");
    }
}
