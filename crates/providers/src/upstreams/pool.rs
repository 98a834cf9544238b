//! The connection pool of one server: dedicated connections for single users or sessions
//! (`share`), made on first use, bounded, with the least recently used idle one evicted.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gantry_client::{Client, Event, Settings, Start, Target};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// How long a connection that nobody uses is kept.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// Into so many parts the connections of a server are divided where several principals share them.
const PRINCIPAL_SHARES: usize = 4;

/// The connections by whose they are.
#[derive(Debug)]
pub(super) struct Pool {
    target: Target,
    settings: Settings,
    limit: usize,
    state: Mutex<PoolState>,
    /// Where the connections live: longer than the threads that serve those who need them.
    runtime: Handle,
    /// What they say beside their calls goes there, with whose they are.
    events: mpsc::Sender<(Arc<str>, Event)>,
}

#[derive(Debug, Default)]
struct PoolState {
    clients: HashMap<Arc<str>, PooledConnection>,
    /// What clients watch. Who of them does is seen when there is news.
    watched: BTreeSet<String>,
    /// How many were ever made.
    created: u64,
}

#[derive(Debug)]
struct PooledConnection {
    own: DedicatedConnection,
    /// Who is accountable for it.
    principal: Box<str>,
    used: Instant,
    _event_task: JoinSet<()>,
}

/// The connection of one user or session.
#[derive(Debug, Clone)]
pub(super) struct DedicatedConnection {
    pub(super) client: Client,
    /// What it is called for people. It does not tell the session, which is a secret.
    pub(super) name: String,
    number: u64,
}

impl Pool {
    /// No connections yet. They will live on the runtime that this is called on.
    pub(super) fn new(
        target: Target,
        settings: Settings,
        limit: usize,
        events: mpsc::Sender<(Arc<str>, Event)>,
    ) -> Self {
        // It is made because it is needed; once lost it is made again when it is needed again.
        let settings = Settings { start: Start::Lazy, ..settings };
        let (limit, runtime) = (limit.max(1), Handle::current());
        Self { target, settings, limit, state: Mutex::default(), runtime, events }
    }

    /// The connection of that name, for a principal; none if there are too many that work on
    /// something. One principal may have a part of them only where there may be others.
    pub(super) fn get(&self, key: &str, principal: &str, is_shared: bool) -> Option<Client> {
        let now = Instant::now();
        let mut state = self.lock();
        if let Some(pooled) = state.clients.get_mut(key) {
            pooled.used = now;
            return Some(pooled.own.client.clone());
        }
        let clients = &mut state.clients;
        clients.retain(|_, pooled| pooled.is_in_use(now));
        let most = if is_shared { (self.limit / PRINCIPAL_SHARES).max(1) } else { self.limit };
        if clients.values().filter(|pooled| *pooled.principal == *principal).count() >= most {
            evict_idle(clients, |pooled| *pooled.principal == *principal)?;
        } else if clients.len() >= self.limit {
            // Whoever has the most gives way: nobody loses a connection to one who makes many.
            let mut counts: HashMap<&str, usize> = HashMap::new();
            for pooled in clients.values().filter(|pooled| !pooled.is_busy()) {
                *counts.entry(&pooled.principal).or_default() += 1;
            }
            let largest = counts.values().copied().max()?;
            counts.retain(|_, count| *count == largest);
            let largest_holders: BTreeSet<Box<str>> = counts.into_keys().map(Into::into).collect();
            evict_idle(clients, |pooled| largest_holders.contains(&pooled.principal))?;
        }
        state.created += 1;
        let pooled = self.connect(key, principal, &state);
        let client = pooled.own.client.clone();
        state.clients.insert(key.into(), pooled);
        Some(client)
    }

    fn connect(&self, key: &str, principal: &str, state: &PoolState) -> PooledConnection {
        let _guard = self.runtime.enter();
        let (sender, mut said) = mpsc::channel(self.settings.queue.max(1));
        let client = Client::new(self.target.clone(), self.settings.clone(), sender);
        client.watch(state.watched.clone());
        let (key, events) = (Arc::<str>::from(key), self.events.clone());
        let mut event_task = JoinSet::new();
        event_task.spawn(async move {
            while let Some(event) = said.recv().await {
                if events.send((key.clone(), event)).await.is_err() {
                    return;
                }
            }
        });
        let number = state.created;
        let name = format!("{principal} {number}");
        let own = DedicatedConnection { client, name, number };
        PooledConnection {
            own,
            principal: principal.into(),
            used: Instant::now(),
            _event_task: event_task,
        }
    }

    /// Sets what is watched, on all connections and on those to come.
    pub(super) fn watch(&self, uris: &BTreeSet<String>) {
        let mut state = self.lock();
        uris.clone_into(&mut state.watched);
        state.clients.values().for_each(|pooled| pooled.own.client.watch(uris.clone()));
    }

    /// Ends connections that nobody has used for long.
    pub(super) fn sweep(&self) {
        let now = Instant::now();
        self.lock().clients.retain(|_, pooled| pooled.is_in_use(now));
    }

    /// All connections there are, in the order in which they were made.
    pub(super) fn all(&self) -> Vec<DedicatedConnection> {
        let mut all: Vec<DedicatedConnection> =
            self.lock().clients.values().map(|pooled| pooled.own.clone()).collect();
        all.sort_by_key(|own| own.number);
        all
    }

    /// Forgets all connections, and gives them to whoever ends them.
    pub(super) fn drain(&self) -> Vec<Client> {
        self.lock().clients.drain().map(|(_, pooled)| pooled.own.client).collect()
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the connection that has rested longest among these; none if all work on something.
fn evict_idle(
    clients: &mut HashMap<Arc<str>, PooledConnection>,
    is_meant: impl Fn(&PooledConnection) -> bool,
) -> Option<()> {
    let resting = clients.iter().filter(|(_, pooled)| is_meant(pooled) && !pooled.is_busy());
    let oldest = resting.min_by_key(|(_, pooled)| pooled.used).map(|(name, _)| name.clone())?;
    clients.remove(&oldest);
    Some(())
}

impl PooledConnection {
    fn is_in_use(&self, now: Instant) -> bool {
        now.duration_since(self.used) < IDLE_TIMEOUT || self.is_busy()
    }

    fn is_busy(&self) -> bool {
        self.own.client.health().in_flight > 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::fixture::upstream;
    use super::*;

    fn names(pool: &Pool) -> Vec<String> {
        let mut names: Vec<_> = pool.lock().clients.keys().map(ToString::to_string).collect();
        names.sort();
        names
    }

    #[tokio::test(start_paused = true)]
    async fn connections_are_few_and_those_that_rest_give_way() {
        let upstream = upstream("s");
        let pool = Pool::new(upstream.target.unwrap(), upstream.client, 2, mpsc::channel(1).0);
        for (name, expected) in [("a", "a"), ("b", "a b"), ("a", "a b"), ("c", "a c")] {
            assert!(pool.get(name, "me", false).is_some());
            assert_eq!(names(&pool).join(" "), expected);
            tokio::time::advance(Duration::from_secs(60)).await;
        }
        tokio::time::advance(IDLE_TIMEOUT - Duration::from_secs(90)).await;
        pool.sweep();
        assert_eq!(names(&pool), ["c"]);
        assert_eq!((pool.all().len(), pool.drain().len(), pool.all().len()), (1, 1, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn who_makes_many_takes_none_from_others() {
        let upstream = upstream("s");
        let pool = Pool::new(upstream.target.unwrap(), upstream.client, 8, mpsc::channel(1).0);
        for name in ["a1", "b1", "c1", "c2"] {
            assert!(pool.get(name, &name[..1], true).is_some());
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        for number in 0..20 {
            assert!(pool.get(&format!("m{number}"), "m", true).is_some());
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert_eq!(names(&pool), ["a1", "b1", "c1", "c2", "m18", "m19"]);
        for name in ["d1", "e1", "f1", "g1"] {
            assert!(pool.get(name, &name[..1], true).is_some());
        }
        assert_eq!(names(&pool).join(" "), "a1 b1 c2 d1 e1 f1 g1 m19");
    }
}
