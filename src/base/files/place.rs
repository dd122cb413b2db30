//! A place is a name in a folder that is held open: what is done there cannot be led elsewhere
//! meanwhile.
//!
//! Every change to the disk and every read passes here, so that a path below a fence is found
//! without following a link. See [`super::fence`].

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use super::fence::{Fenced, fence_of, link_error};

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// To read a file. Outside of a fence a link is followed.
    Read,
    /// To read a file that is no link, wherever it is.
    Plain,
    /// To list or sync a folder. Outside of a fence a link is followed.
    Folder,
    /// To write a file that must not be there yet.
    New { private: bool },
    /// To read a file and to write at its end; it must be there.
    Append,
    /// To lock a file, which is created if need be.
    Lock,
}

pub(super) use system::{Place, open, remove_tree};

/// Looks at what stands at a path, without following a link at its end.
pub(super) fn look(path: &Path) -> io::Result<Metadata> {
    match fence_of(path)? {
        Some((fenced, way)) => system::look(&fenced, &way, path),
        None => std::fs::symlink_metadata(path),
    }
}

/// Does the same outside of a fence but for a link, which is followed there and refused below one.
pub(super) fn look_through(path: &Path) -> io::Result<Metadata> {
    match fence_of(path)? {
        Some((fenced, way)) => {
            let metadata = system::look(&fenced, &way, path)?;
            if metadata.is_symlink() { Err(link_error()) } else { Ok(metadata) }
        }
        None => std::fs::metadata(path),
    }
}

#[cfg(unix)]
mod system {
    use std::ffi::{OsStr, OsString};
    use std::io::ErrorKind;
    use std::os::unix::ffi::OsStrExt;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
    use rustix::fs::{
        AtFlags, CWD, Dir, FileType, Mode, OFlags, RawMode, chmodat, linkat, mkdirat, openat,
        renameat, statat, unlinkat,
    };

    use super::super::fence::{PASSING, open_here};
    use super::super::folders::parent_of;
    use super::*;

    /// A name in a folder that is held open.
    #[derive(Debug)]
    pub struct Place {
        folder: Arc<OwnedFd>,
        name: OsString,
    }

    impl Place {
        /// Finds a place; its folder has to be there.
        pub fn of(path: &Path) -> io::Result<Place> {
            let Some(name) = path.file_name() else {
                return Err(io::Error::new(ErrorKind::InvalidInput, "the path has no name"));
            };
            let folder = match fence_of(path)? {
                Some((fenced, way)) => fenced.folder(way.parent().unwrap_or(Path::new("")))?,
                None => Arc::new(openat(CWD, parent_of(path), PASSING, Mode::empty())?),
            };
            Ok(Place { folder, name: name.to_owned() })
        }

        /// The place of another name in the same folder.
        pub fn beside(&self, name: &OsStr) -> Place {
            Place { folder: self.folder.clone(), name: name.to_owned() }
        }

        pub fn create_folder(&self, mode: u32) -> io::Result<()> {
            let mode = Mode::from_raw_mode(mode as RawMode);
            Ok(mkdirat(&self.folder, &self.name, mode)?)
        }

        pub fn open(&self, access: Access) -> io::Result<File> {
            let (flags, mode) = flags(access);
            let opened = patiently(|| open_here(self.folder.as_fd(), &self.name, flags, mode));
            opened.map(File::from)
        }

        pub fn rename(&self, to: &Place) -> io::Result<()> {
            Ok(renameat(&self.folder, &self.name, &to.folder, &to.name)?)
        }

        /// Moves to a name only if nothing has it.
        pub fn rename_if_free(&self, to: &Place) -> io::Result<()> {
            #[cfg(any(target_os = "linux", target_os = "macos"))]
            {
                use rustix::fs::{RenameFlags, renameat_with};
                use rustix::io::Errno;
                let flags = RenameFlags::NOREPLACE;
                match renameat_with(&self.folder, &self.name, &to.folder, &to.name, flags) {
                    Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
                    done => return Ok(done?),
                }
            }
            self.link(to)?;
            self.remove_file()
        }

        /// Gives a file a second name, which has to be free.
        pub fn link(&self, to: &Place) -> io::Result<()> {
            let flags = AtFlags::empty();
            Ok(linkat(&self.folder, &self.name, &to.folder, &to.name, flags)?)
        }

        /// Exchanges two names; `false` where the system or the file system cannot.
        #[cfg(any(target_os = "linux", target_os = "macos"))]
        pub fn exchange(&self, with: &Place) -> io::Result<bool> {
            use rustix::fs::{RenameFlags, renameat_with};
            use rustix::io::Errno;
            let flags = RenameFlags::EXCHANGE;
            match renameat_with(&self.folder, &self.name, &with.folder, &with.name, flags) {
                Ok(()) => Ok(true),
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Ok(false),
                Err(err) => Err(err.into()),
            }
        }

        #[cfg(not(any(target_os = "linux", target_os = "macos")))]
        pub fn exchange(&self, _with: &Place) -> io::Result<bool> {
            Ok(false)
        }

        pub fn remove_file(&self) -> io::Result<()> {
            Ok(unlinkat(&self.folder, &self.name, AtFlags::empty())?)
        }

        pub fn remove_empty_folder(&self) -> io::Result<()> {
            Ok(unlinkat(&self.folder, &self.name, AtFlags::REMOVEDIR)?)
        }

        /// The mode of a plain file or a folder; `None` for anything else.
        pub fn mode(&self) -> Option<u32> {
            let found = statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            let kind = FileType::from_raw_mode(found.st_mode);
            let is_ours = matches!(kind, FileType::RegularFile | FileType::Directory);
            is_ours.then_some(Mode::from_raw_mode(found.st_mode).bits() as u32)
        }

        /// Sets the mode of what is known to be a file or a folder.
        pub fn set_mode(&self, mode: u32) -> io::Result<()> {
            let mode = Mode::from_raw_mode(mode as RawMode);
            Ok(chmodat(&self.folder, &self.name, mode, AtFlags::empty())?)
        }
    }

    /// Opens a file or folder.
    pub fn open(path: &Path, access: Access) -> io::Result<File> {
        let (flags, mode) = flags(access);
        let opened = patiently(|| match fence_of(path)? {
            Some((fenced, way)) => fenced.open(&way, flags, mode),
            None if matches!(access, Access::Read | Access::Folder) => {
                Ok(openat(CWD, path, flags, mode)?)
            }
            None => Ok(openat(CWD, path, flags | OFlags::NOFOLLOW, mode)?),
        });
        opened.map(File::from)
    }

    /// Opens once more where another process asks just then who writes to the file: it has a lease
    /// for a moment (see [`super::super::writers`]), and who opens without waiting is turned away.
    fn patiently(open: impl Fn() -> io::Result<OwnedFd>) -> io::Result<OwnedFd> {
        let until = Instant::now() + Duration::from_secs(2);
        loop {
            match open() {
                Err(err) if err.kind() == ErrorKind::WouldBlock && Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                opened => return opened,
            }
        }
    }

    fn flags(access: Access) -> (OFlags, Mode) {
        // A pipe or a device in place of a file is an error rather than a long wait.
        let always = OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let (flags, mode) = match access {
            Access::Read | Access::Plain => (OFlags::RDONLY, 0),
            Access::Folder => (OFlags::RDONLY | OFlags::DIRECTORY, 0),
            Access::New { private: true } => {
                (OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, 0o600)
            }
            Access::New { private: false } => (OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, 0o666),
            Access::Append => (OFlags::RDWR | OFlags::APPEND, 0),
            Access::Lock => (OFlags::RDWR | OFlags::CREATE, 0o666),
        };
        (flags | always, Mode::from_raw_mode(mode))
    }

    /// Looks at what stands at a path below a fence.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn look(fenced: &Fenced, way: &Path, _path: &Path) -> io::Result<Metadata> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        File::from(fenced.open(way, flags, Mode::empty())?).metadata()
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    // What is a number of 64 bits on one system is a smaller one on another.
    #[allow(clippy::unnecessary_cast)]
    pub fn look(_fenced: &Fenced, _way: &Path, path: &Path) -> io::Result<Metadata> {
        use std::os::unix::fs::MetadataExt;
        let place = Place::of(path)?;
        let found = statat(&place.folder, &place.name, AtFlags::SYMLINK_NOFOLLOW)?;
        let metadata = std::fs::symlink_metadata(path)?;
        let same = (metadata.dev(), metadata.ino()) == (found.st_dev as u64, found.st_ino as u64);
        if same { Ok(metadata) } else { Err(ErrorKind::NotFound.into()) }
    }

    /// Removes whatever stands at a place, a folder with all that is in it; of a link only itself.
    pub fn remove_tree(place: &Place) -> io::Result<()> {
        remove_below(place.folder.as_fd(), &place.name)
    }

    fn remove_below(folder: BorrowedFd, name: &OsStr) -> io::Result<()> {
        let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
            return Ok(unlinkat(folder, name, AtFlags::empty())?);
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let opened = open_here(folder, name, flags, Mode::empty())?;
        // All names first: a folder that changes while it is listed may skip some.
        let mut names = Vec::new();
        for entry in Dir::read_from(&opened)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                names.push(name.to_owned());
            }
        }
        for name in names {
            super::super::if_found(remove_below(opened.as_fd(), &name))?;
        }
        Ok(unlinkat(folder, name, AtFlags::REMOVEDIR)?)
    }
}

#[cfg(not(unix))]
mod system {
    use std::ffi::OsStr;
    use std::fs::{self, OpenOptions};
    use std::path::PathBuf;

    use super::*;

    /// A path whose way was looked at.
    #[derive(Debug)]
    pub struct Place {
        path: PathBuf,
    }

    impl Place {
        pub fn of(path: &Path) -> io::Result<Place> {
            if let Some((fenced, way)) = fence_of(path)? {
                fenced.check(&way, false)?;
            }
            Ok(Place { path: path.to_owned() })
        }

        pub fn beside(&self, name: &OsStr) -> Place {
            Place { path: self.path.with_file_name(name) }
        }

        pub fn create_folder(&self, _mode: u32) -> io::Result<()> {
            fs::create_dir(&self.path)
        }

        pub fn open(&self, access: Access) -> io::Result<File> {
            open(&self.path, access)
        }

        pub fn rename(&self, to: &Place) -> io::Result<()> {
            fs::rename(&self.path, &to.path)
        }

        pub fn rename_if_free(&self, to: &Place) -> io::Result<()> {
            self.link(to)?;
            self.remove_file()
        }

        pub fn link(&self, to: &Place) -> io::Result<()> {
            fs::hard_link(&self.path, &to.path)
        }

        pub fn exchange(&self, _with: &Place) -> io::Result<bool> {
            Ok(false)
        }

        pub fn remove_file(&self) -> io::Result<()> {
            fs::remove_file(&self.path)
        }

        pub fn remove_empty_folder(&self) -> io::Result<()> {
            fs::remove_dir(&self.path)
        }
    }

    pub fn open(path: &Path, access: Access) -> io::Result<File> {
        if let Some((fenced, way)) = fence_of(path)? {
            fenced.check(&way, true)?;
        }
        let mut options = OpenOptions::new();
        match access {
            Access::Read | Access::Plain | Access::Folder => options.read(true),
            Access::New { .. } => options.read(true).write(true).create_new(true),
            Access::Append => options.read(true).append(true),
            Access::Lock => options.read(true).write(true).create(true).truncate(false),
        };
        options.open(path)
    }

    pub fn look(fenced: &Fenced, way: &Path, path: &Path) -> io::Result<Metadata> {
        fenced.check(way, false)?;
        fs::symlink_metadata(path)
    }

    pub fn remove_tree(place: &Place) -> io::Result<()> {
        let metadata = fs::symlink_metadata(&place.path)?;
        match metadata.is_dir() {
            true => fs::remove_dir_all(&place.path),
            false => fs::remove_file(&place.path).or_else(|_| fs::remove_dir(&place.path)),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::super::*;

    /// A fenced folder with a link to a folder outside at `out`, and to a file at `leaf`.
    fn fenced() -> (tempfile::TempDir, Fence) {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("outside/deep")).unwrap();
        fs::create_dir_all(at("memory/real")).unwrap();
        fs::write(at("outside/file"), "precious").unwrap();
        fs::write(at("outside/deep/file"), "precious").unwrap();
        symlink(at("outside"), at("memory/out")).unwrap();
        symlink(at("outside/file"), at("memory/leaf")).unwrap();
        symlink(at("outside/new"), at("memory/dangling")).unwrap();
        let fence = Fence::around(&at("memory"));
        (folder, fence)
    }

    #[test]
    fn nothing_is_changed_or_read_through_a_link() {
        let (folder, _fence) = fenced();
        let at = |name: &str| folder.path().join("memory").join(name);
        let through = at("out/file");
        assert!(is_link_error(&read(&through).unwrap_err()));
        assert!(is_link_error(&read(at("leaf")).unwrap_err()));
        assert!(is_link_error(&open(&through).unwrap_err()));
        assert!(is_link_error(&read_dir(at("out")).unwrap_err()));
        assert!(is_link_error(&metadata(at("leaf")).unwrap_err()));
        assert!(symlink_metadata(at("leaf")).unwrap().is_symlink());
        assert!(exists(at("leaf")) && !is_file(at("leaf")) && !is_dir(at("out")));
        assert!(!exists(&through) && !is_file(&through));
        assert!(walk_files(&at("out")).all(|item| item.is_err()));
        for path in [at("out/file"), at("out/new"), at("out/deep/new"), at("out/new/new")] {
            assert!(write_atomic(&path, b"x").is_err());
            assert!(write_unsynced(&path, b"x").is_err());
            assert!(write_plain(&path, b"x").is_err());
            assert!(append_plain(&path, b"x").is_err());
            assert!(append_locked(&path, "x").is_err());
            assert!(create_new(&path).is_err() && create_new_private(&path).is_err());
            assert!(create_folder(&path).is_err() && create_private_dir(&path).is_err());
            assert!(lock_exclusive(&path).is_err());
            assert!(Batch::new().write(&path, b"x").is_err());
            assert!(rename(&at("real"), &path).is_err());
            assert!(copy_hashed(&at("real"), &path).is_err());
        }
        for path in [at("leaf"), at("dangling")] {
            assert!(append_plain(&path, b"x").is_err());
            assert!(append_locked(&path, "x").is_err());
            assert!(lock_exclusive(&path).is_err());
        }
        assert!(remove_file(&through).is_err() && remove_folder(&at("out/deep")).is_err());
        assert!(remove_empty_folder(&at("out/deep")).is_err());
        assert!(make_private(&at("out/deep")).is_err());
        make_private(&at("out")).unwrap();
        assert_ne!(tests::mode(&folder.path().join("outside/file")), 0o600);
        // Of a link only itself is removed, and a whole file takes its place.
        remove_folder(&at("out")).unwrap();
        write_atomic(&at("leaf"), b"new").unwrap();
        write_plain(&at("dangling"), b"new").unwrap();
        assert_eq!(tests::names(&folder.path().join("outside")), ["deep", "file"]);
        assert_eq!(tests::names(&folder.path().join("outside/deep")), ["file"]);
        assert_eq!(fs::read(folder.path().join("outside/file")).unwrap(), b"precious");
    }

    #[test]
    fn a_removed_tree_leaves_what_its_links_lead_to() {
        let (folder, _fence) = fenced();
        let memory = folder.path().join("memory");
        symlink(folder.path().join("outside"), memory.join("real/out")).unwrap();
        fs::create_dir_all(memory.join("real/a/b")).unwrap();
        fs::write(memory.join("real/a/b/c"), "").unwrap();
        remove_folder(&memory.join("real")).unwrap();
        remove_folder(&memory.join("real")).unwrap();
        assert_eq!(tests::names(&memory), ["dangling", "leaf", "out"]);
        assert_eq!(fs::read(folder.path().join("outside/deep/file")).unwrap(), b"precious");
    }

    #[test]
    fn a_second_name_of_a_file_keeps_its_content() {
        let (folder, _fence) = fenced();
        let outside = folder.path().join("outside/file");
        for (number, change) in [
            (|path: &std::path::Path| append_locked(path, "x").unwrap()) as fn(&_),
            |path| assert_eq!(append_plain(path, b"x\n").unwrap(), 10),
            |path| {
                let (notes, header) = (tests::replacing(path), || "# Day".to_owned());
                assert!(append_page_if(&notes, path, header, "x", |_| Ok(true)).unwrap());
            },
            |path| write_plain(path, b"x\n").unwrap(),
            |path| write_atomic(path, b"x\n").unwrap(),
        ]
        .into_iter()
        .enumerate()
        {
            let path = folder.path().join("memory").join(format!("{number}"));
            fs::hard_link(&outside, &path).unwrap();
            change(&path);
            assert!(fs::read_to_string(&path).unwrap().ends_with("x\n"));
            assert_eq!(fs::read(&outside).unwrap(), b"precious");
        }
    }

    #[test]
    fn pipes_devices_and_folders_are_no_files() {
        let (folder, _fence) = fenced();
        let pipe = folder.path().join("memory/pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        let zero = std::path::Path::new("/dev/zero");
        for path in [pipe.as_path(), zero, folder.path()] {
            assert!(open(path).is_err() && read(path).is_err() && read_to_string(path).is_err());
            assert!(read_at_most(path, 10).is_err() && hash_file(path).is_err());
        }
        assert!(append_locked(&pipe, "x").is_err());
        assert!(append_plain(&pipe, b"x").is_err());
        assert!(lock_exclusive(&pipe).is_err());
        assert!(!is_file(&pipe) && exists(&pipe));
    }
}
