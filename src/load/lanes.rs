//! A shard's lanes: which are free, which wait for an answer, and since when one has waited too long. All on one thread.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use super::pacer::Intent;
use super::rate::Offset;
use super::target::Request;

/// One request for a lane.
pub(super) struct Job {
    pub(super) intent: Intent,
    pub(super) request: Request,
    /// When it was handed over.
    pub(super) handed: Offset,
    /// Whether it is on the key that is asked for most.
    pub(super) hottest: bool,
}

/// A lane's letter box.
#[derive(Default)]
pub(super) struct Slot {
    job: Cell<Option<Job>>,
    waker: Cell<Option<Waker>>,
    /// When to give up on the request that is out.
    deadline: Cell<Option<Offset>>,
    given_up: Cell<bool>,
}

/// The lanes that there are.
#[derive(Default)]
pub(super) struct Lanes {
    all: RefCell<Vec<Rc<Slot>>>,
    free: RefCell<Vec<Rc<Slot>>>,
    /// No deadline is earlier than this. All requests have the same timeout, so it is looked for again only when it has
    /// passed, about once per timeout: that is all that a timeout costs a request that is answered.
    earliest: Cell<Option<Offset>>,
}

impl Slot {
    /// Hands over a request.
    pub(super) fn give(&self, job: Job) {
        self.job.set(Some(job));
        self.wake();
    }

    /// The next request.
    pub(super) async fn take(&self) -> Job {
        poll_fn(|context| match self.job.take() {
            Some(job) => Poll::Ready(job),
            None => self.wait(context),
        })
        .await
    }

    /// What a call comes to, or nothing if it takes longer than [`Lanes::expect`] said.
    pub(super) async fn unless_given_up<F: Future>(&self, mut call: Pin<&mut F>) -> Option<F::Output> {
        let outcome = poll_fn(|context| match call.as_mut().poll(context) {
            Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
            Poll::Pending if self.given_up.get() => Poll::Ready(None),
            Poll::Pending => self.wait(context),
        })
        .await;
        self.given_up.set(false);
        self.deadline.set(None);
        outcome
    }

    fn wait<T>(&self, context: &Context<'_>) -> Poll<T> {
        let known = self.waker.take().filter(|waker| waker.will_wake(context.waker()));
        self.waker.set(Some(known.unwrap_or_else(|| context.waker().clone())));
        Poll::Pending
    }

    fn wake(&self) {
        if let Some(waker) = self.waker.take() {
            waker.wake_by_ref();
            self.waker.set(Some(waker));
        }
    }
}

impl Lanes {
    /// A lane more, busy until it is put back.
    pub(super) fn add(&self) -> Rc<Slot> {
        let slot = Rc::new(Slot::default());
        self.all.borrow_mut().push(Rc::clone(&slot));
        slot
    }

    /// How many there are.
    pub(super) fn count(&self) -> u32 {
        self.all.borrow().len() as u32
    }

    /// How many are free.
    pub(super) fn idle(&self) -> u32 {
        self.free.borrow().len() as u32
    }

    /// The free lane that was used last: its connection and buffers are warm.
    pub(super) fn free(&self) -> Option<Rc<Slot>> {
        self.free.borrow_mut().pop()
    }

    /// A lane is free again.
    pub(super) fn put_back(&self, slot: Rc<Slot>) {
        self.free.borrow_mut().push(slot);
    }

    /// The request that was just handed to a lane is given up at this instant.
    pub(super) fn expect(&self, slot: &Slot, deadline: Offset) {
        slot.deadline.set(Some(deadline));
        if self.earliest.get().is_none_or(|earliest| deadline < earliest) {
            self.earliest.set(Some(deadline));
        }
    }

    /// Gives up on every request whose deadline has passed, and says when to look again.
    pub(super) fn give_up(&self, now: Offset) -> Offset {
        if self.earliest.get().is_some_and(|earliest| earliest <= now) {
            let mut next: Option<Offset> = None;
            for slot in &*self.all.borrow() {
                match slot.deadline.get() {
                    Some(deadline) if deadline <= now => {
                        slot.given_up.set(true);
                        slot.wake();
                    }
                    Some(deadline) => next = Some(next.map_or(deadline, |next| next.min(deadline))),
                    None => {}
                }
            }
            self.earliest.set(next);
        }
        self.earliest.get().unwrap_or(Offset::MAX)
    }
}
