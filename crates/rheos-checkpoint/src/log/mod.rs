//! The protocol on storage: a log of records, each created once, that decides who may complete a snapshot.
//!
//! Under the job's folder there are
//!
//! ```text
//! log/<position, 20 digits>.json    records: claims and manifests
//! files/<generation>-<anything>     data, written once, named by manifests
//! ```
//!
//! **Appending.** A record is created by put-if-absent at the position after the last one that is known to be occupied. So all
//! who append agree on one order. A coordinator begins with a *claim*; the position of its claim is its *generation*. From
//! then on it appends manifests. If a position is taken, it reads what is there: its own record means that the reply of an
//! earlier attempt was lost, which is a success; anything else is the claim of a later coordinator, which *fences* it: it
//! stops for ever. So no manifest of a generation stands behind the claim of a higher one.
//!
//! **Beginning.** A new coordinator lists the log, claims the position after the highest, and lists again: its claim must be
//! the highest record, otherwise it has been overtaken and is fenced. Then it reads all records below its claim; the highest
//! manifest is the latest snapshot. A claim that says `fresh` hides everything below it. A start from a chosen manifest is
//! itself the first manifest of the generation, so that a successor starts from there too.
//!
//! **Deleting.** Claims are never deleted: a coordinator that slept could fill the position of a deleted claim, and so complete
//! a snapshot that nobody who came after it knows of. For the same reason a manifest that stands right before a claim is not
//! deleted but replaced by a small `retired` record: the coordinator that wrote it may not have had its reply and still be
//! trying. The same is done where a coordinator knows of a write to that position whose outcome it never learned, which may come
//! late. (The second listing of a new coordinator is for the same case: its claim may have been on the way so long that
//! the position was filled and deleted meanwhile.) All other manifests may be deleted: whoever wrote them has gone past them.
//!
//! **Files** are deleted after the manifests that named them, and only if no retained manifest names them; files of lower
//! generations that no manifest names are left over from snapshots that were not completed, and are deleted after the first
//! manifest of a generation. (Not right after its claim: it may have been overtaken by then without knowing, and not know of the
//! manifests that its successor has completed. Once it has a manifest of its own, a successor starts from that or a later one.)
//! Whoever wants to delete a savepoint deletes its record alone: its files are left over then.
//! A file of the own generation that no completed manifest has named is never deleted: a subtask may name it in its next part.

mod appender;
mod contents;
mod record;
mod retention;

pub use appender::{Appended, Appender, Occupant};
pub use contents::{Listing, LogContents};
pub use record::{Claim, FILES, LOG, Record, StartKind, file_generation, file_name, record_name, record_position};
pub use retention::{Retained, RetainedManifest};
