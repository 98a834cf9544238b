//! One process at the service of one call: its input, what it says on the way, and its answer.

use std::pin::{Pin, pin};
use std::sync::Arc;

use bytes::Bytes;
use gantry_gateway::CallContext;
use gantry_process::{Child, End, Finished};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::Instant;

use crate::scripts::manifest::{Answer, Manifest};
use crate::scripts::{ToolSettings, contract};

/// What a process needs to know of the call it serves.
pub(super) struct Service<'a> {
    pub(super) manifest: &'a Arc<Manifest>,
    pub(super) settings: &'a ToolSettings,
    pub(super) context: &'a CallContext,
    /// Held until the process has ended, which may be after the call.
    pub(super) place: Arc<OwnedSemaphorePermit>,
}

impl Service<'_> {
    /// Gives a process its input, passes on what it says, and waits for its answer.
    pub(super) async fn serve(&self, mut child: Child, input: Bytes) -> Finished {
        let mut notifications = child.notices();
        let deadline = Instant::now() + self.settings.timeout_of(self.manifest);
        if self.manifest.answer == Answer::End {
            return self.finish(child, input, deadline, &mut notifications).await;
        }
        let first = {
            let first = pin!(child.first_line(input, deadline - Instant::now()));
            self.listen(first, &mut notifications).await
        };
        match first {
            Some(line) => self.part_with(child, line),
            None => self.finish(child, Bytes::new(), deadline, &mut notifications).await,
        }
    }

    async fn finish(
        &self,
        child: Child,
        input: Bytes,
        deadline: Instant,
        notifications: &mut mpsc::Receiver<Bytes>,
    ) -> Finished {
        let left = deadline.saturating_duration_since(Instant::now());
        self.listen(pin!(child.finish(input, left)), notifications).await
    }

    /// Waits for something while passing on notices.
    async fn listen<T>(
        &self,
        mut awaited: Pin<&mut impl Future<Output = T>>,
        notifications: &mut mpsc::Receiver<Bytes>,
    ) -> T {
        let come = loop {
            tokio::select! {
                come = awaited.as_mut() => break come,
                Some(line) = notifications.recv() => contract::relay(self.context, line).await,
            }
        };
        while let Ok(line) = notifications.try_recv() {
            contract::relay(self.context, line).await;
        }
        come
    }

    /// Lets a process end on its own time. Its tool has said that the line is its answer, whatever
    /// comes after it.
    fn part_with(&self, child: Child, line: Bytes) -> Finished {
        let (place, name) = (self.place.clone(), self.manifest.name.clone());
        let grace = self.settings.child.grace;
        tokio::spawn(async move {
            let finished = child.finish(Bytes::new(), grace).await;
            drop(place);
            if finished.end != End::Exited(0) {
                let (end, stderr) = (finished.end, finished.stderr);
                tracing::warn!(name, ?end, stderr, "a tool ended badly after its answer");
            }
        });
        let (stdout_overflow, input_read, stderr) = (false, true, String::new());
        Finished { stdout: line, stdout_overflow, input_read, stderr, end: End::Exited(0) }
    }
}
