//! A fence around a folder: no path below it leads out of it, whatever links were planted there.
//!
//! Whoever keeps files in a folder that others can put things into (a memory comes by `git pull`)
//! holds a [`Fence`] around it. As long as one is held, every function of [`super`] that is given a
//! path below that folder finds its way component by component and follows no link: with one call
//! of `openat2` where the system has it, by a walk with `O_NOFOLLOW` elsewhere. On Windows the
//! components are looked at before the path is used, and a reparse point among them is refused.
//! The folder itself may be reached through links: its owner chose the way.

use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock, RwLock, Weak};

#[cfg(unix)]
use rustix::fd::OwnedFd;

/// Keeps all paths below a folder inside of it, as long as it is held.
#[derive(Debug, Clone)]
pub struct Fence {
    _inner: Arc<Fenced>,
}

/// A folder with a fence around it.
#[derive(Debug)]
pub(super) struct Fenced {
    /// The folder as it was named.
    root: PathBuf,
    /// The same without links, known once it is there.
    real: OnceLock<PathBuf>,
    /// It is held open, so that the way to it need not be found each time.
    #[cfg(unix)]
    handle: RwLock<Option<Arc<OwnedFd>>>,
}

static FENCES: RwLock<Vec<Weak<Fenced>>> = RwLock::new(Vec::new());

impl Fence {
    /// Puts a fence around a folder, which need not be there yet.
    pub fn around(root: &Path) -> Fence {
        // An empty path would be a prefix of all.
        let root = if root.as_os_str().is_empty() { Path::new(".") } else { root };
        let fenced = Arc::new(Fenced {
            root: root.to_owned(),
            real: OnceLock::new(),
            #[cfg(unix)]
            handle: RwLock::new(None),
        });
        let mut fences = FENCES.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        fences.retain(|known| known.strong_count() > 0);
        fences.push(Arc::downgrade(&fenced));
        Fence { _inner: fenced }
    }
}

/// The fence that a path lies within, and its way from there; `None` for a path outside of all, and
/// for the folder itself.
pub(super) fn fence_of(path: &Path) -> io::Result<Option<(Arc<Fenced>, PathBuf)>> {
    let fences = FENCES.read().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut found: Option<(Arc<Fenced>, &Path)> = None;
    for fenced in fences.iter().filter_map(Weak::upgrade) {
        let real = fenced.real.get().and_then(|real| path.strip_prefix(real).ok());
        let Some(within) = path.strip_prefix(&fenced.root).ok().or(real) else { continue };
        // Of fences within each other the inner one counts.
        let inner = |(_, known): &(_, &Path)| within.as_os_str().len() < known.as_os_str().len();
        if found.as_ref().is_none_or(inner) {
            found = Some((fenced, within));
        }
    }
    let Some((fenced, within)) = found else { return Ok(None) };
    let mut way = PathBuf::with_capacity(within.as_os_str().len());
    for component in within.components() {
        match component {
            Component::Normal(name) => way.push(name),
            Component::CurDir => {}
            _ => return Err(io::Error::new(ErrorKind::InvalidInput, LEADS_OUT)),
        }
    }
    Ok((!way.as_os_str().is_empty()).then_some((fenced, way)))
}

/// Whether a path lies below a folder with a fence around it.
pub(super) fn is_fenced(path: &Path) -> bool {
    !matches!(fence_of(path), Ok(None))
}

const LEADS_OUT: &str = "the path leads out of the memory";
const LINK: &str = "a link stands in the way, and links below a memory are not followed";

/// What is said where a link would have to be followed.
pub(super) fn link_error() -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, LINK)
}

/// Whether an error says that a link would have had to be followed.
pub fn is_link_error(err: &io::Error) -> bool {
    err.kind() == ErrorKind::InvalidInput && err.to_string() == LINK
}

#[cfg(unix)]
mod system {
    use std::ffi::OsStr;

    use rustix::fd::{AsFd, BorrowedFd};
    use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fstat, openat, stat, statat};
    use rustix::io::Errno;

    use super::*;

    /// How a folder is opened on the way to something in it.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub const PASSING: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub const PASSING: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

    impl Fenced {
        /// Opens what a way leads to, without following a link.
        pub fn open(&self, way: &Path, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
            let handle = self.handle()?;
            match open_beneath(handle.as_fd(), way, flags, mode) {
                // The folder itself may have been replaced by another.
                Err(err) if err.kind() == ErrorKind::NotFound && self.is_replaced(&handle) => {
                    *self.handle.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = None;
                    open_beneath(self.handle()?.as_fd(), way, flags, mode)
                }
                opened => opened,
            }
        }

        /// Opens the folder that a way leads to, to do something in it.
        pub fn folder(&self, way: &Path) -> io::Result<Arc<OwnedFd>> {
            if way.as_os_str().is_empty() {
                return self.handle();
            }
            self.open(way, PASSING, Mode::empty()).map(Arc::new)
        }

        fn handle(&self) -> io::Result<Arc<OwnedFd>> {
            let held = self.handle.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
            if let Some(handle) = held {
                return Ok(handle);
            }
            let opened = Arc::new(openat(CWD, &self.root, PASSING, Mode::empty())?);
            if let Ok(real) = std::fs::canonicalize(&self.root) {
                self.real.get_or_init(|| real);
            }
            let mut held = self.handle.write().unwrap_or_else(|poisoned| poisoned.into_inner());
            Ok(held.insert(opened).clone())
        }

        fn is_replaced(&self, handle: &OwnedFd) -> bool {
            match (stat(&self.root), fstat(handle)) {
                (Ok(named), Ok(open)) => (named.st_dev, named.st_ino) != (open.st_dev, open.st_ino),
                _ => false,
            }
        }
    }

    fn open_beneath(
        root: BorrowedFd,
        way: &Path,
        flags: OFlags,
        mode: Mode,
    ) -> io::Result<OwnedFd> {
        #[cfg(target_os = "linux")]
        if openat2_works() {
            match open_at_once(root, way, flags, mode) {
                // Somebody renames things while we look.
                Err(Errno::AGAIN) => {}
                Err(Errno::LOOP) => return Err(link_error()),
                opened => return Ok(opened?),
            }
        }
        open_by_steps(root, way, flags, mode)
    }

    /// Opens a path by one call that follows no link and does not leave the folder.
    #[cfg(target_os = "linux")]
    pub fn open_at_once(
        root: BorrowedFd,
        way: &Path,
        flags: OFlags,
        mode: Mode,
    ) -> Result<OwnedFd, Errno> {
        use rustix::fs::{ResolveFlags, openat2};
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        openat2(root, way, flags | OFlags::CLOEXEC, mode, resolve)
    }

    /// Whether the system has `openat2`: old kernels do not know it, and some containers forbid it.
    #[cfg(target_os = "linux")]
    fn openat2_works() -> bool {
        static WORKS: OnceLock<bool> = OnceLock::new();
        *WORKS.get_or_init(|| {
            !super::super::faults::is_old_kernel()
                && open_at_once(CWD, Path::new("."), PASSING, Mode::empty()).is_ok()
        })
    }

    /// Opens a path component by component.
    pub fn open_by_steps(
        root: BorrowedFd,
        way: &Path,
        flags: OFlags,
        mode: Mode,
    ) -> io::Result<OwnedFd> {
        let (Some(folders), Some(name)) = (way.parent(), way.file_name()) else {
            return Err(io::Error::new(ErrorKind::InvalidInput, LEADS_OUT));
        };
        let mut at: Option<OwnedFd> = None;
        for folder in folders {
            let above = at.as_ref().map_or(root, AsFd::as_fd);
            at = Some(open_here(above, folder, PASSING, Mode::empty())?);
        }
        open_here(at.as_ref().map_or(root, AsFd::as_fd), name, flags, mode)
    }

    /// Opens a name in an open folder; a link is not followed.
    pub fn open_here(
        folder: BorrowedFd,
        name: &OsStr,
        flags: OFlags,
        mode: Mode,
    ) -> io::Result<OwnedFd> {
        let opened = openat(folder, name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, mode);
        opened.map_err(|err| match err {
            Errno::LOOP | Errno::NOTDIR | Errno::MLINK if is_link(folder, name) => link_error(),
            err => err.into(),
        })
    }

    fn is_link(folder: BorrowedFd, name: &OsStr) -> bool {
        let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
        found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink)
    }
}

#[cfg(unix)]
pub(super) use system::{PASSING, open_here};

#[cfg(not(unix))]
impl Fenced {
    /// Looks at every component of a way but the last, which counts only where it is to be
    /// followed.
    pub(super) fn check(&self, way: &Path, also_last: bool) -> io::Result<()> {
        if let Ok(real) = std::fs::canonicalize(&self.root) {
            self.real.get_or_init(|| real);
        }
        let mut path = self.root.clone();
        let count = way.components().count();
        for (number, component) in way.components().enumerate() {
            path.push(component);
            if (number + 1 == count && !also_last) || !is_reparse_point(&path)? {
                continue;
            }
            return Err(link_error());
        }
        Ok(())
    }
}

/// Whether a path is a link, a junction or another thing that leads elsewhere.
#[cfg(not(unix))]
fn is_reparse_point(path: &Path) -> io::Result<bool> {
    let Some(metadata) = super::if_exists(std::fs::symlink_metadata(path))? else {
        return Ok(false);
    };
    #[cfg(windows)]
    {
        use std::os::windows::fs::MetadataExt;
        const REPARSE_POINT: u32 = 0x400;
        Ok(metadata.file_attributes() & REPARSE_POINT != 0)
    }
    #[cfg(not(windows))]
    Ok(metadata.is_symlink())
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use rustix::fd::AsFd;
    use rustix::fs::{Mode, OFlags};

    use super::*;

    #[test]
    fn a_path_is_fenced_as_long_as_the_fence_is_held() {
        let folder = tempfile::tempdir().unwrap();
        let (memory, other) = (folder.path().join("memory"), folder.path().join("other"));
        symlink(&memory, &other).unwrap();
        let way = |path: &Path| fence_of(path).unwrap().map(|(_, way)| way);
        assert_eq!(way(&memory.join("a/b")), None);
        let fence = Fence::around(&other);
        assert_eq!(way(&other.join("a/./b")), Some("a/b".into()));
        assert_eq!(way(&other), None);
        assert!(fence_of(&other.join("../x")).is_err());
        // Under its real name too, once it is there and was used.
        fs::create_dir(&memory).unwrap();
        assert!(!super::super::exists(other.join("x")));
        let real = fs::canonicalize(&memory).unwrap();
        assert_eq!(way(&real.join("a")), Some("a".into()));
        drop(fence);
        assert_eq!(way(&other.join("a/b")), None);
    }

    #[test]
    fn both_ways_of_opening_refuse_every_link() {
        let folder = tempfile::tempdir().unwrap();
        let (root, outside) = (folder.path().join("root"), folder.path().join("outside"));
        for path in [root.join("a/b"), outside.join("b")] {
            fs::create_dir_all(path).unwrap();
        }
        fs::write(root.join("a/b/file"), "inside").unwrap();
        fs::write(outside.join("b/file"), "outside").unwrap();
        symlink(&outside, root.join("out")).unwrap();
        symlink("a", root.join("in")).unwrap();
        symlink("../..", root.join("a/up")).unwrap();
        symlink(outside.join("b/file"), root.join("a/leaf")).unwrap();
        symlink("nowhere", root.join("a/dangling")).unwrap();
        let root = fs::File::open(&root).unwrap();
        let by_steps =
            |way: &Path| system::open_by_steps(root.as_fd(), way, OFlags::RDONLY, Mode::empty());
        let check = |way: &str, expect: Result<(), &str>| {
            let way = Path::new(way);
            let result =
                |opened: io::Result<OwnedFd>| opened.map(drop).map_err(|err| err.to_string());
            assert_eq!(result(by_steps(way)), expect.map_err(str::to_owned), "{}", way.display());
            #[cfg(target_os = "linux")]
            {
                let at_once =
                    system::open_at_once(root.as_fd(), way, OFlags::RDONLY, Mode::empty());
                assert_eq!(at_once.is_ok(), expect.is_ok(), "{}", way.display());
            }
        };
        check("a/b/file", Ok(()));
        check("a/b", Ok(()));
        for way in ["out", "out/b/file", "in/b/file", "a/up", "a/up/outside/b/file", "a/leaf"] {
            check(way, Err(LINK));
        }
        check("a/dangling", Err(LINK));
        check("a/none", Err("No such file or directory (os error 2)"));
        check("a/b/file/below", Err("Not a directory (os error 20)"));
    }

    #[test]
    fn a_folder_that_was_replaced_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("memory");
        let _fence = Fence::around(&root);
        for round in ["one", "two"] {
            fs::create_dir(&root).unwrap();
            fs::write(root.join(round), round).unwrap();
            assert_eq!(super::super::read_to_string(root.join(round)).unwrap(), round);
            fs::remove_dir_all(&root).unwrap();
        }
    }
}
