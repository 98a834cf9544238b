//! Who comes in with a token, and who does not.

use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::MemoryDocumentStore;
use crate::clock::ClockFlusher;

async fn open(document_store: &Arc<MemoryDocumentStore>) -> Tokens {
    open_by(document_store, Clock::system()).await
}

async fn open_by(document_store: &Arc<MemoryDocumentStore>, clock: Clock) -> Tokens {
    let document_store: Arc<dyn DocumentStore> = document_store.clone();
    let opened = Tokens::open(document_store, Signer::new([7; 32]), clock).await;
    opened.expect("memory can be read")
}

/// A clock, and what sets it.
fn clock(at: u64) -> (Clock, Arc<AtomicU64>) {
    let wall = Arc::new(AtomicU64::new(at));
    let told = wall.clone();
    (Clock::new(move || told.load(Ordering::SeqCst)), wall)
}

async fn fresh() -> (Arc<MemoryDocumentStore>, Tokens) {
    let document_store = Arc::default();
    let tokens = open(&document_store).await;
    (document_store, tokens)
}

async fn make(tokens: &Tokens, name: &str) -> Token {
    tokens.create(name, None, None).await.expect("it can be made").0
}

fn check(tokens: &Tokens, shown: &str) -> Result<String, TokenRefusal> {
    tokens.check(Some(shown)).map(|it| it.name.to_string())
}

fn in_an_hour(tokens: &Tokens) -> Option<SystemTime> {
    Some(tokens.clock().now() + Duration::from_secs(3600))
}

#[tokio::test]
async fn only_the_whole_token_opens() {
    let (_, tokens) = fresh().await;
    let one = make(&tokens, "one").await.expose().to_owned();
    let other = make(&tokens, "other").await.expose().to_owned();
    let flipped = one[..one.len() - 1].to_owned() + if one.ends_with('A') { "B" } else { "A" };
    let crossed = one[..17].to_owned() + &other[17..];
    let stranger = Token::random().expose().to_owned();
    let cases = [
        (one.as_str(), Ok("one".to_owned())),
        (&other, Ok("other".to_owned())),
        (&flipped, Err(TokenRefusal::Unknown)),
        (&crossed, Err(TokenRefusal::Unknown)),
        (&stranger, Err(TokenRefusal::Unknown)),
        (&one[..one.len() - 1], Err(TokenRefusal::Unknown)),
        ("", Err(TokenRefusal::Unknown)),
        ("gty_000000000000_", Err(TokenRefusal::Unknown)),
    ];
    for (shown, expected) in cases {
        assert_eq!(check(&tokens, shown), expected, "{shown}");
    }
    let nothing = tokens.check(None).map(|it| it.name);
    assert_eq!(nothing, Err(TokenRefusal::Missing));
}

#[tokio::test]
async fn what_is_over_opens_no_more() {
    let (document_store, tokens) = fresh().await;
    let expires = in_an_hour(&tokens);
    let (brief, _) = tokens.create("brief", None, expires).await.expect("it can be made");
    assert_eq!(check(&tokens, brief.expose()), Ok("brief".to_owned()));

    let gone = make(&tokens, "gone").await;
    let lease = tokens.check(Some(gone.expose())).expect("it opens").lease;
    tokens.revoke("GONE").await.expect("it is there");
    lease.over().await;
    assert_eq!(check(&tokens, gone.expose()), Err(TokenRefusal::Revoked));
    let error = tokens.revoke("gone").await.expect_err("it is over");
    assert_eq!(error, TokenError::Unknown("gone".to_owned()));

    let again = open(&document_store).await;
    assert_eq!(check(&again, gone.expose()), Err(TokenRefusal::Revoked));
    assert_eq!(check(&again, brief.expose()), Ok("brief".to_owned()));
}

/// A token for an hour, made at noon, and clocks that are set while it is good and after.
#[tokio::test(start_paused = true)]
async fn no_clock_revives_what_is_over() {
    const NOON: u64 = 1_000_000;
    let document_store = Arc::default();
    let (time, wall) = clock(NOON);
    let tokens = open_by(&document_store, time.clone()).await;
    let expires = in_an_hour(&tokens);
    let (brief, _) = tokens.create("brief", None, expires).await.expect("it can be made");
    let lease = tokens.check(Some(brief.expose())).expect("it opens").lease;
    let cases = [
        (NOON + 10, Ok("brief".to_owned())),
        (NOON - 3600, Ok("brief".to_owned())),
        (NOON + 3601, Err(TokenRefusal::Expired)),
        (NOON + 10, Err(TokenRefusal::Expired)),
    ];
    let (held, kept): (_, Arc<dyn DocumentStore>) = (Signer::new([7; 32]), document_store.clone());
    for (now, expected) in cases {
        wall.store(now, Ordering::SeqCst);
        assert_eq!(check(&tokens, brief.expose()), expected, "at {now}");
    }
    assert!(lease.is_ended(), "whoever is inside with it is out");
    ClockFlusher::start(time, kept.clone(), held.clone()).stop().await;
    let later = clock(NOON + 20).0.recall(kept, held).await.expect("memory can be read");
    let again = open_by(&document_store, later).await;
    assert_eq!(check(&again, brief.expose()), Err(TokenRefusal::Expired), "after a restart");
    make(&again, "new").await;
}

/// Whoever sits inside and shows nothing is found too.
#[tokio::test(start_paused = true)]
async fn who_is_inside_is_out_when_the_time_is_over() {
    let (time, wall) = clock(1_000_000);
    let tokens = open_by(&Arc::default(), time).await;
    let expires = in_an_hour(&tokens);
    let (brief, _) = tokens.create("brief", None, expires).await.expect("it can be made");
    let lease = tokens.check(Some(brief.expose())).expect("it opens").lease;
    wall.store(0, Ordering::SeqCst);
    let kept = tokio::time::timeout(Duration::from_secs(3500), tokens.keep()).await;
    assert!(kept.is_err() && !lease.is_ended(), "it is good for a minute more");
    let kept = tokio::time::timeout(Duration::from_secs(200), tokens.keep()).await;
    assert!(kept.is_err() && lease.is_ended(), "an hour has passed, whatever the wall says");
}

#[tokio::test]
async fn names_are_plain_and_given_once() {
    let (_, tokens) = fresh().await;
    let long = "a".repeat(65);
    let cases = [
        ("laptop", None),
        ("me@host-1.x_y", None),
        ("laptop", Some(TokenError::Taken("laptop".to_owned()))),
        ("LapTop", Some(TokenError::Taken("LapTop".to_owned()))),
        ("Local", Some(TokenError::Reserved("Local".to_owned()))),
        ("", Some(TokenError::Name(String::new()))),
        ("-a", Some(TokenError::Name("-a".to_owned()))),
        ("a b", Some(TokenError::Name("a b".to_owned()))),
        ("lаptop", Some(TokenError::Name("lаptop".to_owned()))),
        (&long, Some(TokenError::Name(long.clone()))),
    ];
    for (name, expected) in cases {
        let made = tokens.create(name, None, None).await;
        assert_eq!(made.err(), expected, "{name}");
    }
    tokens.revoke("laptop").await.expect("it is there");
    make(&tokens, "laptop").await;
    let patterns = |text: &str, times| vec![text.to_owned(); times];
    for wrong in [patterns("", 1), patterns("a\n", 1), patterns("a*", 101)] {
        assert!(tokens.create("b", Some(wrong), None).await.is_err());
    }
    let empty = tokens.create("b", Some(Vec::new()), None).await.err();
    assert_eq!(empty, Some(TokenError::NothingAllowed), "an empty list is not everything");
    let past = Some(SystemTime::now() - Duration::from_secs(1));
    assert_eq!(tokens.create("b", None, past).await.err(), Some(TokenError::Past));
}

#[tokio::test]
async fn there_are_no_more_than_may_be() {
    let (document_store, tokens) = fresh().await;
    let tokens = tokens.limit(2);
    make(&tokens, "a").await;
    make(&tokens, "b").await;
    let full = tokens.create("c", None, None).await.err();
    assert_eq!(full, Some(TokenError::TooMany(2)));
    tokens.revoke("a").await.expect("it is there");
    make(&tokens, "c").await;
    let names: Vec<_> = tokens.list().into_iter().map(|record| record.name).collect();
    assert_eq!(names, ["b", "c"]);
    assert_eq!(document_store.all(token_state::TOKENS).await.expect("memory can be read").len(), 2);
}

#[tokio::test]
async fn a_token_carries_what_it_is_good_for() {
    let (document_store, tokens) = fresh().await;
    let allow = vec!["files_read*".to_owned()];
    let made = tokens.create("reader", Some(allow.clone()), None).await;
    let (token, _) = made.expect("it can be made");
    for tokens in [tokens, open(&document_store).await] {
        let principal = tokens.check(Some(token.expose())).expect("it opens");
        assert_eq!(principal.scope.map(|scope| scope.allow.clone()), Some(allow.clone()));
    }
    let kept = document_store.all(token_state::TOKENS).await.expect("memory can be read");
    assert!(!kept[0].1.contains(&token.expose()[17..]), "the secret is not kept");
}

#[tokio::test]
async fn what_others_wrote_into_the_store_opens_nothing() {
    let (document_store, tokens) = fresh().await;
    let token = make(&tokens, "a").await;
    let record = tokens.revoke("a").await.expect("it is there");
    let living = TokenRecord { revoked: None, ..record.clone() };
    let forged = token_state::seal(&Signer::new([8; 32]), &living);
    let signed = token_state::seal(&Signer::new([7; 32]), &record);
    let edited =
        signed.replace(&format!("\"revoked\":{}", record.revoked.unwrap_or(0)), "\"revoked\":null");
    assert_ne!(edited, signed);
    for content in [forged, edited, "{}".to_owned(), "not JSON".to_owned()] {
        document_store.put(token_state::TOKENS, &record.id, content.clone()).await.expect("memory");
        let again = open(&document_store).await;
        assert_eq!(check(&again, token.expose()), Err(TokenRefusal::Unknown), "{content}");
    }
    // A good record under another's id is none of it either.
    document_store.put(token_state::TOKENS, "000000000000", signed).await.expect("memory");
    assert_eq!(open(&document_store).await.list(), []);
}

#[tokio::test]
async fn programs_that_share_a_store_hear_of_each_other() {
    let (document_store, one) = fresh().await;
    let other = open(&document_store).await;
    let token = make(&other, "a").await;
    assert_eq!(check(&one, token.expose()), Err(TokenRefusal::Unknown));
    one.refresh().await.expect("memory");
    let principal = one.check(Some(token.expose())).expect("it opens");
    one.write_uses().await.expect("memory");
    other.revoke("a").await.expect("it is there");
    one.write_uses().await.expect("memory");
    one.refresh().await.expect("memory");
    principal.lease.over().await;
    assert_eq!(check(&one, token.expose()), Err(TokenRefusal::Revoked));
    assert_eq!(check(&open(&document_store).await, token.expose()), Err(TokenRefusal::Revoked));
}

#[tokio::test]
async fn the_last_use_is_remembered_and_written_when_it_changed() {
    let (document_store, (time, wall)) = (Arc::default(), clock(1000));
    let tokens = open_by(&document_store, time).await;
    let token = make(&tokens, "a").await;
    assert_eq!(tokens.list()[0].last_used, None);
    tokens.check(Some(token.expose())).expect("it opens");
    assert_eq!(tokens.list()[0].last_used, Some(1000));
    tokens.write_uses().await.expect("memory");
    assert_eq!(open(&document_store).await.list()[0].last_used, Some(1000));
    document_store.remove(token_state::USES, &tokens.list()[0].id).await.expect("memory");
    tokens.write_uses().await.expect("memory");
    assert_eq!(
        document_store.all(token_state::USES).await.expect("memory"),
        [],
        "nothing has changed"
    );
    wall.store(1010, Ordering::SeqCst);
    tokens.check(Some(token.expose())).expect("it opens");
    tokens.write_uses().await.expect("memory");
    assert_eq!(document_store.all(token_state::USES).await.expect("memory").len(), 1);
}
