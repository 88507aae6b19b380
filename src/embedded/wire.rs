//! A connection that a fault can spoil: it can be reset, or say something that is not HTTP.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// What the connection does when the server is through with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Manners {
    /// What the server says goes out as it is, and the connection ends in order.
    #[default]
    Polite,
    /// The connection ends with a reset.
    Reset,
    /// Garbage goes out in place of the next answer.
    Garbage,
}

/// What goes out in place of an answer.
const GARBAGE: &[u8] = b"\x16\x03\x01\xff\xfe not HTTP at all \x00\x01\x02\r\n\r\n";

/// A TCP connection with manners that can be changed while it is in use.
pub(super) struct Wire {
    stream: TcpStream,
    manners: Rc<Cell<Manners>>,
    garbage_sent: usize,
}

impl Wire {
    pub(super) fn new(stream: TcpStream, manners: Rc<Cell<Manners>>) -> Self {
        Self { stream, manners, garbage_sent: 0 }
    }

    fn poll_garbage(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(rest @ [_, ..]) = GARBAGE.get(self.garbage_sent..) {
            match Pin::new(&mut self.stream).poll_write(cx, rest) {
                Poll::Ready(Ok(sent)) => self.garbage_sent += sent.max(1),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if self.manners.get() == Manners::Reset {
            // A connection that cannot be reset is closed instead, which is a fault as well.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.manners.get() == Manners::Garbage {
            return self.poll_garbage(cx).map_ok(|()| bytes.len());
        }
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, cx: &mut Context<'_>, parts: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        if self.manners.get() == Manners::Garbage {
            return self.poll_garbage(cx).map_ok(|()| parts.iter().map(|part| part.len()).sum());
        }
        Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.manners.get() == Manners::Reset {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
