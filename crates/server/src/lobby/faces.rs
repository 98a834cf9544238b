//! Faces: endpoints of their own beside the main one, which come and go while the server runs.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use gantry_gateway::Gateway;

use super::{Lobby, signature};
use crate::http::annex::Annexes;

/// The faces by name.
pub(super) type Faces = ArcSwap<BTreeMap<String, Arc<Lobby>>>;

impl Lobby {
    /// Opens the face of that name, served at `/mcp/NAME`. One that was open is closed first.
    pub fn open_face(&self, name: &str, gateway: Arc<Gateway>) {
        self.close_face(name);
        let face = Arc::new(self.face_of(name, gateway));
        self.change(|faces| drop(faces.insert(name.to_owned(), face.clone())));
    }

    /// Closes the face of that name: its sessions and streams end, and what waits there for
    /// answers is given up. Returns whether there was one.
    pub fn close_face(&self, name: &str) -> bool {
        let Some(face) = self.find_face(name) else { return false };
        self.change(|faces| drop(faces.remove(name)));
        face.stopping.cancel();
        self.sessions.end_face(name);
        self.parking.end_face(name);
        true
    }

    /// The names of the faces, in order.
    pub fn faces(&self) -> Vec<String> {
        self.faces.load().keys().cloned().collect()
    }

    /// The face of that name.
    pub(crate) fn find_face(&self, name: &str) -> Option<Arc<Self>> {
        self.faces.load().get(name).cloned()
    }

    fn change(&self, change: impl Fn(&mut BTreeMap<String, Arc<Self>>)) {
        self.faces.rcu(|faces| {
            let mut faces = BTreeMap::clone(faces);
            change(&mut faces);
            faces
        });
    }

    /// A lobby before another gateway that shares everything that is counted here.
    fn face_of(&self, name: &str, gateway: Arc<Gateway>) -> Self {
        Self {
            signature: signature(&gateway),
            gateway,
            seal: self.seal.for_face(name),
            face: Some(name.into()),
            faces: Faces::default(),
            stopping: self.stopping.child_token(),
            names: self.names.clone(),
            annexes: Annexes::default(),
            settings: self.settings.clone(),
            parking: self.parking.clone(),
            sessions: self.sessions.clone(),
            quota: self.quota.clone(),
            credentials: self.credentials.clone(),
            task_book: self.task_book.clone(),
            tasks: self.tasks.clone(),
            local: self.local.clone(),
            // Whoever comes here has passed the main door.
            doorman: OnceLock::new(),
        }
    }
}
