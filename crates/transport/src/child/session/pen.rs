//! The way to a program's standard input. Whoever has a line writes it, so that nobody has to be
//! woken for it; what the pipe has no room for is left to the session's task. Where several have one
//! at the same time, the first of them writes for all.

use std::io::ErrorKind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use bytes::{Buf, Bytes, BytesMut};
use tokio::net::unix::pipe::Sender;
use tokio::sync::Notify;
use tokio::sync::mpsc::error::{SendError, TrySendError};
use tokio::sync::mpsc::{self, Receiver};

use super::talk::CHUNK;
use crate::lines::put_line;

/// Sends messages to a program, each as one line. The program sees the end of its input when all
/// senders are gone.
#[derive(Debug, Clone)]
pub struct LineSender {
    queue: mpsc::Sender<Bytes>,
    pen: Arc<Pen>,
}

/// The turn of a sender to write for all who have a line until it is dropped.
#[derive(Debug)]
#[must_use = "what was gathered is written when this is dropped"]
pub struct Turn(LineSender);

/// What senders and the session's task share.
#[derive(Debug)]
pub(super) struct Pen {
    sheet: Mutex<Sheet>,
    /// Told when something is left to the task.
    left: Notify,
}

#[derive(Debug)]
struct Sheet {
    /// Gone when nothing more is to be written, which is how the program sees the end.
    pipe: Option<Arc<Sender>>,
    /// What is still to be written of the lines that were taken.
    rest: BytesMut,
    /// Messages in the queue, which come first.
    queued: usize,
    /// The thread of whoever has the turn. What is sent from there is written at its end; others
    /// write at once, for that thread may have something else to do before.
    gathering: Option<ThreadId>,
}

impl LineSender {
    pub(super) fn new(queue: mpsc::Sender<Bytes>, pen: Arc<Pen>) -> Self {
        Self { queue, pen }
    }

    /// Sends a message if there is room for it, in the pipe or in the queue.
    pub fn try_send(&self, message: Bytes) -> Result<(), TrySendError<Bytes>> {
        self.put(&mut self.pen.sheet(), message)
    }

    /// The same, to be written with what others send before the turn that this gives is over. There
    /// is none where someone else writes.
    pub fn gather(&self, message: Bytes) -> Result<Option<Turn>, TrySendError<Bytes>> {
        let mut sheet = self.pen.sheet();
        let first = sheet.is_free() && sheet.gathering.is_none();
        if first {
            sheet.gathering = Some(thread::current().id());
        }
        self.put(&mut sheet, message)?;
        Ok(first.then(|| Turn(self.clone())))
    }

    fn put(&self, sheet: &mut Sheet, message: Bytes) -> Result<(), TrySendError<Bytes>> {
        if sheet.is_free() {
            put_line(&mut sheet.rest, &message);
            let waits = sheet.gathering.is_some_and(|turn| turn == thread::current().id());
            if !waits || sheet.rest.len() >= CHUNK {
                self.pen.write(sheet);
            }
            return Ok(());
        }
        self.queue.try_send(message)?;
        sheet.queued += 1;
        Ok(())
    }

    /// Sends a message when there is room for it.
    pub async fn send(&self, message: Bytes) -> Result<(), SendError<Bytes>> {
        match self.try_send(message) {
            Ok(()) => Ok(()),
            Err(TrySendError::Closed(message)) => Err(SendError(message)),
            Err(TrySendError::Full(message)) => {
                let Ok(room) = self.queue.reserve().await else { return Err(SendError(message)) };
                self.pen.sheet().queued += 1;
                room.send(message);
                Ok(())
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let pen = &self.0.pen;
        let mut sheet = pen.sheet();
        sheet.gathering = None;
        pen.write(&mut sheet);
    }
}

impl Pen {
    pub(super) fn new(pipe: Sender) -> Self {
        let pipe = Some(Arc::new(pipe));
        let sheet = Sheet { pipe, rest: BytesMut::new(), queued: 0, gathering: None };
        Self { sheet: Mutex::new(sheet), left: Notify::new() }
    }

    /// Waits until there is something to write.
    pub(super) async fn left(&self) {
        self.left.notified().await;
    }

    /// Takes a message out of the queue, and what waits along with it: one write for all costs
    /// little more than one for each.
    pub(super) fn take(&self, first: &Bytes, queue: &mut Receiver<Bytes>) {
        let mut sheet = self.sheet();
        put_line(&mut sheet.rest, first);
        sheet.queued -= 1;
        while sheet.rest.len() < CHUNK
            && let Ok(message) = queue.try_recv()
        {
            put_line(&mut sheet.rest, &message);
            sheet.queued -= 1;
        }
    }

    /// Writes all that is left. Says whether the program still reads. It may be dropped while it
    /// waits.
    pub(super) async fn flush(&self) -> bool {
        loop {
            let pipe = {
                let mut sheet = self.sheet();
                sheet.write();
                match &sheet.pipe {
                    Some(pipe) if !sheet.rest.is_empty() => pipe.clone(),
                    pipe => return pipe.is_some(),
                }
            };
            if pipe.writable().await.is_err() {
                return false;
            }
        }
    }

    /// Writes as much as the pipe takes now, and leaves the rest to the task.
    fn write(&self, sheet: &mut Sheet) {
        sheet.write();
        if !sheet.rest.is_empty() {
            self.left.notify_one();
        }
    }

    /// Ends the program's input.
    pub(super) fn close(&self) {
        let mut sheet = self.sheet();
        sheet.pipe = None;
        sheet.rest.clear();
    }

    /// Locked for one write at most, which never waits.
    fn sheet(&self) -> MutexGuard<'_, Sheet> {
        self.sheet.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sheet {
    /// Whether a message can be written at once without overtaking another.
    fn is_free(&self) -> bool {
        let is_clear = self.rest.is_empty() || self.gathering.is_some() && self.rest.len() < CHUNK;
        self.pipe.is_some() && self.queued == 0 && is_clear
    }

    /// Writes as much as the pipe takes now.
    fn write(&mut self) {
        while let Some(pipe) = self.pipe.as_ref().filter(|_| !self.rest.is_empty()) {
            match pipe.try_write(&self.rest) {
                Ok(length) => self.rest.advance(length),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // A program that reads no more is about to end, or will be found silent.
                Err(_) => {
                    self.pipe = None;
                    self.rest.clear();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;
    use tokio::net::unix::pipe::pipe;

    use super::*;

    #[tokio::test]
    async fn what_is_gathered_is_written_at_the_end_of_the_turn() {
        let (sender, receiver) = pipe().unwrap();
        sender.writable().await.unwrap();
        let (queue, _told) = mpsc::channel(1);
        let lines = LineSender::new(queue, Arc::new(Pen::new(sender)));
        let read = || {
            let mut found = [0; 64];
            rustix::io::read(&receiver, &mut found).map(|length| found[..length].to_vec())
        };
        let turn = lines.gather(Bytes::from_static(b"first")).unwrap();
        assert_eq!(read(), Err(Errno::AGAIN));
        lines.try_send(Bytes::from_static(b"second")).unwrap();
        assert_eq!(read(), Err(Errno::AGAIN));
        drop(turn);
        assert_eq!(read().as_deref(), Ok(&b"first\nsecond\n"[..]));
        lines.try_send(Bytes::from_static(b"third")).unwrap();
        assert_eq!(read().as_deref(), Ok(&b"third\n"[..]), "without a turn nobody waits");
    }
}
