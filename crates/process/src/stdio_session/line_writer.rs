//! The way to a program's standard input. Whoever has a line writes it, so that nobody has to be
//! woken for it; what the pipe has no room for is left to the session's task. Where several have one
//! at the same time, the first of them writes for all, and nobody waits for the others.

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

/// How often a sender looks for the lines of others before it leaves them to the task. It has
/// something else to do.
const ROUNDS: usize = 4;

/// Sends messages to a program, each as one line. The program sees the end of its input when all
/// senders are gone.
#[derive(Debug, Clone)]
pub struct LineSender {
    queue: mpsc::Sender<Bytes>,
    writer: Arc<LineWriter>,
}

/// The turn of a sender to write for all who have a line until it is dropped.
#[derive(Debug)]
#[must_use = "what was gathered is written when this is dropped"]
pub struct FlushGuard(LineSender);

/// What senders and the session's task share.
#[derive(Debug)]
pub(super) struct LineWriter {
    buffer: Mutex<WriteBuffer>,
    /// Told when something is left to the task.
    left: Notify,
}

#[derive(Debug)]
struct WriteBuffer {
    /// Gone when nothing more is to be written, which is how the program sees the end.
    pipe: Option<Arc<Sender>>,
    /// Lines that are still to be written, and that nobody is writing.
    lines: BytesMut,
    /// Memory for the lines that come next.
    spare: BytesMut,
    /// Whether someone writes what was taken from here. They look again when they have.
    writing: bool,
    /// Messages in the queue, which come first.
    queued: usize,
    /// The thread of whoever has the turn. What is sent from there is written at its end; others
    /// write at once, for that thread may have something else to do before.
    gathering: Option<ThreadId>,
}

impl LineSender {
    pub(super) fn new(queue: mpsc::Sender<Bytes>, writer: Arc<LineWriter>) -> Self {
        Self { queue, writer }
    }

    /// Sends a message if there is room for it, in the pipe or in the queue.
    pub fn try_send(&self, message: Bytes) -> Result<(), TrySendError<Bytes>> {
        self.put(self.writer.buffer(), message)
    }

    /// The same, to be written with what others send before the turn that this gives is over. There
    /// is none where someone else writes.
    pub fn gather(&self, message: Bytes) -> Result<Option<FlushGuard>, TrySendError<Bytes>> {
        let mut buffer = self.writer.buffer();
        let first = buffer.is_free() && !buffer.writing && buffer.gathering.is_none();
        if first {
            buffer.gathering = Some(thread::current().id());
        }
        self.put(buffer, message)?;
        Ok(first.then(|| FlushGuard(self.clone())))
    }

    fn put(
        &self,
        mut buffer: MutexGuard<'_, WriteBuffer>,
        message: Bytes,
    ) -> Result<(), TrySendError<Bytes>> {
        if buffer.is_free() {
            put_line(&mut buffer.lines, &message);
            let waits = buffer.gathering.is_some_and(|turn| turn == thread::current().id());
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
        buffer.gathering = None;
        writer.write(buffer);
    }
}

impl LineWriter {
    pub(super) fn new(pipe: Sender) -> Self {
        let pipe = Some(Arc::new(pipe));
        let (lines, spare) = (BytesMut::new(), BytesMut::new());
        let buffer = WriteBuffer { pipe, lines, spare, writing: false, queued: 0, gathering: None };
        Self { buffer: Mutex::new(buffer), left: Notify::new() }
    }

    /// Waits until there is something to write.
    pub(super) async fn left(&self) {
        self.left.notified().await;
    }

    /// Takes a message out of the queue, and what waits along with it: one write for all costs
    /// little more than one for each.
    pub(super) fn take(&self, first: &Bytes, queue: &mut Receiver<Bytes>) {
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

    /// Writes all that is left, or leaves it to who is writing. Says whether the program still
    /// reads. It may be dropped while it waits.
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

    /// Writes as much as the pipe takes now, and leaves the rest to the task. Nothing is locked
    /// meanwhile: others put their lines down and go on.
    fn write<'a>(&'a self, mut buffer: MutexGuard<'a, WriteBuffer>) {
        for _ in 0..ROUNDS {
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
            self.left.notify_one();
        }
    }

    /// Ends the program's input.
    pub(super) fn close(&self) {
        self.buffer().close();
    }

    /// Locked to put a line down or to take them, and never while something is written.
    fn buffer(&self) -> MutexGuard<'_, WriteBuffer> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WriteBuffer {
    /// Whether a message can be put down without overtaking another, for someone to write it soon.
    fn is_free(&self) -> bool {
        let is_served = self.writing || self.gathering.is_some();
        let is_clear = self.lines.is_empty() || is_served && self.lines.len() < CHUNK;
        self.pipe.is_some() && self.queued == 0 && is_clear
    }

    fn close(&mut self) {
        self.pipe = None;
        self.lines.clear();
    }
}

/// Writes as much as the pipe takes now. Says whether the program still reads: one that does not is
/// about to end, or will be found silent.
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
        let (queue, told) = mpsc::channel(4);
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
        let mut input = Input { writer, told };
        tokio::select! {
            () = input.flow() => unreachable!("it goes on for as long as someone waits"),
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
