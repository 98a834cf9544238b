//! Writes lines to a program's stdin, coalescing those of several senders. The caller that has a
//! line writes it itself, so that no thread is woken to send a call; only what the pipe has no room
//! for goes to the session's task. With several calls in flight, the first sender holds a guard
//! until all that are ready on its thread have added their lines, and then writes once for all: a
//! write for each line would wake the program for each. No lock is held during a write: other
//! threads add their lines and go on, and the writer takes them along.

use std::io::ErrorKind;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use bytes::{Buf, Bytes, BytesMut};
use tokio::net::unix::pipe::Sender;
use tokio::sync::Notify;
use tokio::sync::mpsc::error::{SendError, TrySendError};
use tokio::sync::mpsc::{self, Receiver};

use super::stdio_task::CHUNK;
use gantry_transport::lines::put_line;

/// How often a sender writes the lines of others before it leaves them to the task.
const WRITE_ROUNDS: usize = 4;

/// Sends messages to a program, each as one line. The program sees the end of its input when all
/// senders are gone.
#[derive(Debug, Clone)]
pub struct LineSender {
    queue: mpsc::Sender<Bytes>,
    writer: Arc<LineWriter>,
}

/// Collects the lines of several senders, and writes them when it is dropped.
#[derive(Debug)]
#[must_use = "what was gathered is written when this is dropped"]
pub struct FlushGuard(LineSender);

/// Shared by the senders and the session's task.
#[derive(Debug)]
pub(super) struct LineWriter {
    buffer: Mutex<WriteBuffer>,
    /// Notified when lines are left to the task.
    pending: Notify,
}

#[derive(Debug)]
struct WriteBuffer {
    /// Dropped when nothing more is to be written, which is the end of the input.
    pipe: Option<Arc<Sender>>,
    /// Lines that nobody is writing yet.
    lines: BytesMut,
    /// A buffer for the next lines.
    spare: BytesMut,
    /// Whether a sender writes what it took from here. It looks again afterwards.
    writing: bool,
    /// Messages in the queue, which precede the lines.
    queued: usize,
    /// The thread of the guard's holder. Lines from that thread are written when the guard is
    /// dropped; others are written at once, since that thread may be busy.
    guarded_by: Option<ThreadId>,
}

impl LineSender {
    pub(super) fn new(queue: mpsc::Sender<Bytes>, writer: Arc<LineWriter>) -> Self {
        Self { queue, writer }
    }

    /// Sends a message if there is room for it, in the pipe or in the queue.
    pub fn try_send(&self, message: Bytes) -> Result<(), TrySendError<Bytes>> {
        self.enqueue(self.writer.buffer(), message)
    }

    /// The same, but the message is written with those of others when the returned guard is
    /// dropped. None if another sender writes.
    pub fn gather(&self, message: Bytes) -> Result<Option<FlushGuard>, TrySendError<Bytes>> {
        let mut buffer = self.writer.buffer();
        let first = buffer.is_free() && !buffer.writing && buffer.guarded_by.is_none();
        if first {
            buffer.guarded_by = Some(thread::current().id());
        }
        self.enqueue(buffer, message)?;
        Ok(first.then(|| FlushGuard(self.clone())))
    }

    fn enqueue(
        &self,
        mut buffer: MutexGuard<'_, WriteBuffer>,
        message: Bytes,
    ) -> Result<(), TrySendError<Bytes>> {
        if buffer.is_free() {
            put_line(&mut buffer.lines, &message);
            let waits = buffer.guarded_by.is_some_and(|guard| guard == thread::current().id());
            if !waits || buffer.lines.len() >= CHUNK {
                self.writer.write(buffer);
            }
            return Ok(());
        }
        self.queue.try_send(message)?;
        buffer.queued += 1;
        Ok(())
    }

    /// Sends a message when there is room for it.
    pub async fn send(&self, message: Bytes) -> Result<(), SendError<Bytes>> {
        match self.try_send(message) {
            Ok(()) => Ok(()),
            Err(TrySendError::Closed(message)) => Err(SendError(message)),
            Err(TrySendError::Full(message)) => {
                let Ok(room) = self.queue.reserve().await else { return Err(SendError(message)) };
                self.writer.buffer().queued += 1;
                room.send(message);
                Ok(())
            }
        }
    }
}

impl Drop for FlushGuard {
    fn drop(&mut self) {
        let writer = &self.0.writer;
        let mut buffer = writer.buffer();
        buffer.guarded_by = None;
        writer.write(buffer);
    }
}

impl LineWriter {
    pub(super) fn new(pipe: Sender) -> Self {
        let pipe = Some(Arc::new(pipe));
        let (lines, spare) = (BytesMut::new(), BytesMut::new());
        let buffer =
            WriteBuffer { pipe, lines, spare, writing: false, queued: 0, guarded_by: None };
        Self { buffer: Mutex::new(buffer), pending: Notify::new() }
    }

    /// Waits until there is something to write.
    pub(super) async fn pending(&self) {
        self.pending.notified().await;
    }

    /// Takes a message from the queue, with those behind it: one write for all costs little more
    /// than one for each.
    pub(super) fn dequeue(&self, first: &Bytes, queue: &mut Receiver<Bytes>) {
        let mut buffer = self.buffer();
        put_line(&mut buffer.lines, first);
        buffer.queued -= 1;
        while buffer.lines.len() < CHUNK
            && let Ok(message) = queue.try_recv()
        {
            put_line(&mut buffer.lines, &message);
            buffer.queued -= 1;
        }
    }

    /// Writes all that is left, or leaves it to the current writer. Returns whether the program
    /// still reads. Cancel safe.
    pub(super) async fn flush(&self) -> bool {
        loop {
            self.write(self.buffer());
            let pipe = {
                let buffer = self.buffer();
                match &buffer.pipe {
                    Some(pipe) if !buffer.lines.is_empty() && !buffer.writing => pipe.clone(),
                    pipe => return pipe.is_some(),
                }
            };
            if pipe.writable().await.is_err() {
                return false;
            }
        }
    }

    /// Writes as much as the pipe accepts now, and leaves the rest to the task. No lock is held
    /// meanwhile.
    fn write<'a>(&'a self, mut buffer: MutexGuard<'a, WriteBuffer>) {
        for _ in 0..WRITE_ROUNDS {
            let Some(pipe) = buffer.pipe.clone() else { return };
            if buffer.writing || buffer.lines.is_empty() {
                return;
            }
            let spare = mem::take(&mut buffer.spare);
            let mut taken = mem::replace(&mut buffer.lines, spare);
            buffer.writing = true;
            drop(buffer);
            let is_read = write_now(&pipe, &mut taken);
            buffer = self.buffer();
            buffer.writing = false;
            if !is_read || buffer.pipe.is_none() {
                return buffer.close();
            }
            if !taken.is_empty() {
                taken.extend_from_slice(&buffer.lines);
                buffer.lines = taken;
                break;
            }
            if taken.capacity() <= 2 * CHUNK {
                buffer.spare = taken;
            }
        }
        if !buffer.lines.is_empty() {
            self.pending.notify_one();
        }
    }

    /// Ends the program's input.
    pub(super) fn close(&self) {
        self.buffer().close();
    }

    /// Locked to add or take lines, and never during a write.
    fn buffer(&self) -> MutexGuard<'_, WriteBuffer> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WriteBuffer {
    /// Whether a message can be added without overtaking another, and will be written soon.
    fn is_free(&self) -> bool {
        let is_served = self.writing || self.guarded_by.is_some();
        let is_clear = self.lines.is_empty() || is_served && self.lines.len() < CHUNK;
        self.pipe.is_some() && self.queued == 0 && is_clear
    }

    fn close(&mut self) {
        self.pipe = None;
        self.lines.clear();
    }
}

/// Writes as much as the pipe accepts now. Returns whether the program still reads: one that does
/// not is about to exit, or will time out.
fn write_now(pipe: &Sender, text: &mut BytesMut) -> bool {
    while !text.is_empty() {
        match pipe.try_write(text) {
            Ok(length) if length == text.len() => text.clear(),
            Ok(length) => text.advance(length),
            Err(error) => return error.kind() == ErrorKind::WouldBlock,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;
    use tokio::io::{AsyncBufReadExt, BufReader};
    use tokio::net::unix::pipe::pipe;

    use super::super::stdio_task::Input;
    use super::*;

    const SENDERS: usize = 4;
    const LINES: usize = 5_000;

    /// Each sender's lines come whole and in their order, whoever writes them.
    #[tokio::test]
    async fn many_senders_share_a_pen() {
        let (sender, receiver) = pipe().unwrap();
        let writer = Arc::new(LineWriter::new(sender));
        let (queue, queued) = mpsc::channel(4);
        let lines = LineSender::new(queue, writer.clone());
        let start = |sender| {
            let lines = lines.clone();
            thread::spawn(move || (0..LINES).for_each(|number| send(&lines, sender, number)))
        };
        let senders: Vec<_> = (0..SENDERS).map(start).collect();
        drop(lines);
        let mut next = [0; SENDERS];
        let mut read = BufReader::new(receiver).lines();
        let reading = async {
            while let Some(line) = read.next_line().await.unwrap() {
                let (sender, number) = line.split_once(' ').unwrap();
                let due = &mut next[sender.parse::<usize>().unwrap()];
                assert_eq!(number, due.to_string(), "from {sender}");
                *due += 1;
            }
        };
        let mut input = Input { writer, queued };
        tokio::select! {
            () = input.pump() => unreachable!("it goes on for as long as someone waits"),
            () = reading => (),
        }
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        assert_eq!(next, [LINES; SENDERS]);
    }

    /// Sends a line when there is room, every other with a turn of no length.
    fn send(lines: &LineSender, sender: usize, number: usize) {
        let mut line = Bytes::from(format!("{sender} {number}"));
        loop {
            let sent = match number % 2 {
                0 => lines.gather(line).map(drop),
                _ => lines.try_send(line),
            };
            match sent {
                Ok(()) => return,
                Err(TrySendError::Full(back)) => line = back,
                Err(TrySendError::Closed(_)) => panic!("closed before its end"),
            }
            thread::yield_now();
        }
    }

    #[tokio::test]
    async fn what_is_gathered_is_written_at_the_end_of_the_turn() {
        let (sender, receiver) = pipe().unwrap();
        sender.writable().await.unwrap();
        let (queue, _told) = mpsc::channel(1);
        let lines = LineSender::new(queue, Arc::new(LineWriter::new(sender)));
        let read = || {
            let mut found = [0; 64];
            rustix::io::read(&receiver, &mut found).map(|length| found[..length].to_vec())
        };
        let guard = lines.gather(Bytes::from_static(b"first")).unwrap();
        assert_eq!(read(), Err(Errno::AGAIN));
        lines.try_send(Bytes::from_static(b"second")).unwrap();
        assert_eq!(read(), Err(Errno::AGAIN));
        drop(guard);
        assert_eq!(read().as_deref(), Ok(&b"first\nsecond\n"[..]));
        lines.try_send(Bytes::from_static(b"third")).unwrap();
        assert_eq!(read().as_deref(), Ok(&b"third\n"[..]), "without a turn nobody waits");
    }
}
