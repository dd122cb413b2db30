//! The commits of a repository, read from its objects: loose ones and those in packs.

use crate::base::files;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

/// The name of an object.
pub type Hash = [u8; 20];

/// How long a commit may be; its message may be a story.
const LONGEST: usize = 1 << 20;
/// How many deltas may stand on each other.
const DEEPEST: usize = 64;

const COMMIT: u8 = 1;
const OFFSET_DELTA: u8 = 6;
const NAMED_DELTA: u8 = 7;

/// The objects of a repository.
pub struct Objects {
    folder: PathBuf,
    packs: Vec<Pack>,
}

/// A pack with its index, which has the objects' names in order.
struct Pack {
    index: File,
    objects: File,
    count: u32,
}

impl Objects {
    /// The objects in a folder; a pack that cannot be read counts as none.
    pub fn open(folder: PathBuf) -> Objects {
        let entries = files::read_dir(folder.join("pack"))
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path());
        let indices =
            entries.filter(|path| path.extension().is_some_and(|extension| extension == "idx"));
        let packs = indices.filter_map(|index| Pack::open(&index).ok()).collect();
        Objects { folder, packs }
    }

    /// Whether any object has a name that begins so; `None` where objects lie elsewhere too.
    pub fn any_named(&mut self, prefix: &str) -> Option<bool> {
        let (folder, rest) = prefix.split_at_checked(2)?;
        let loose = files::read_dir(self.folder.join(folder)).into_iter().flatten().flatten();
        if loose
            .filter_map(|entry| entry.file_name().into_string().ok())
            .any(|name| name.starts_with(rest))
        {
            return Some(true);
        }
        let least = hash(&format!("{prefix:0<40}"))?;
        for pack in &mut self.packs {
            let place = pack.place(&least).ok()?;
            let found = if place < pack.count { pack.name(place).ok()? } else { continue };
            if hex(&found).starts_with(prefix) {
                return Some(true);
            }
        }
        if files::exists(self.folder.join("info/alternates")) { None } else { Some(false) }
    }

    /// The parents of a commit; `None` where it is not to be read.
    pub fn parents(&mut self, commit: &Hash) -> Option<Vec<Hash>> {
        let text = self.commit(commit)?;
        let text = String::from_utf8_lossy(&text);
        let head = text.lines().take_while(|line| !line.is_empty());
        Some(head.filter_map(|line| hash(line.strip_prefix("parent ")?)).collect())
    }

    fn commit(&mut self, name: &Hash) -> Option<Vec<u8>> {
        let hex = hex(name);
        if let Ok(bytes) = files::read(self.folder.join(&hex[..2]).join(&hex[2..])) {
            let whole = decompress_to_vec_zlib_with_limit(&bytes, LONGEST).ok()?;
            let start = whole.iter().position(|byte| *byte == 0)? + 1;
            return whole.starts_with(b"commit ").then(|| whole[start..].to_vec());
        }
        self.packs.iter_mut().find_map(|pack| {
            let at = pack.offset(name).ok()??;
            let (kind, bytes) = pack.object(at, 0)?;
            (kind == COMMIT).then_some(bytes)
        })
    }
}

impl Pack {
    fn open(index: &Path) -> io::Result<Pack> {
        let mut head = [0; 8];
        let mut file = files::open(index)?;
        file.read_exact(&mut head)?;
        if head != [0xff, b't', b'O', b'c', 0, 0, 0, 2] {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let mut pack =
            Pack { index: file, objects: files::open(index.with_extension("pack"))?, count: 0 };
        pack.count = pack.number(8 + 255 * 4)?;
        Ok(pack)
    }

    fn number(&mut self, at: u64) -> io::Result<u32> {
        let mut bytes = [0; 4];
        self.index.seek(SeekFrom::Start(at))?;
        self.index.read_exact(&mut bytes)?;
        Ok(u32::from_be_bytes(bytes))
    }

    fn name(&mut self, place: u32) -> io::Result<Hash> {
        let mut name = [0; 20];
        self.index.seek(SeekFrom::Start(8 + 256 * 4 + 20 * u64::from(place)))?;
        self.index.read_exact(&mut name)?;
        Ok(name)
    }

    /// The place of the first name that is not before another.
    fn place(&mut self, name: &Hash) -> io::Result<u32> {
        let first = u64::from(name[0]);
        let mut low = if first == 0 { 0 } else { self.number(8 + 4 * (first - 1))? };
        let mut high = self.number(8 + 4 * first)?;
        while low < high {
            let middle = low + (high - low) / 2;
            if self.name(middle)? < *name { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    /// Where in the pack an object is.
    fn offset(&mut self, name: &Hash) -> io::Result<Option<u64>> {
        let place = self.place(name)?;
        if place >= self.count || self.name(place)? != *name {
            return Ok(None);
        }
        let after_names = 8 + 256 * 4 + 20 * u64::from(self.count);
        let short = self.number(after_names + 4 * u64::from(self.count) + 4 * u64::from(place))?;
        if short & 0x8000_0000 == 0 {
            return Ok(Some(u64::from(short)));
        }
        let long = after_names + 8 * u64::from(self.count) + 8 * u64::from(short & 0x7fff_ffff);
        Ok(Some(u64::from(self.number(long)?) << 32 | u64::from(self.number(long + 4)?)))
    }

    /// An object with its kind.
    fn object(&mut self, at: u64, depth: usize) -> Option<(u8, Vec<u8>)> {
        if depth > DEEPEST {
            return None;
        }
        let bytes = self.bytes(at, 512)?;
        let kind = bytes.first()? >> 4 & 7;
        let mut start = bytes.iter().position(|byte| byte & 0x80 == 0)? + 1;
        let base = match kind {
            OFFSET_DELTA => {
                let mut back = u64::from(bytes.get(start)? & 0x7f);
                while bytes.get(start)? & 0x80 != 0 {
                    start += 1;
                    back = (back + 1) << 7 | u64::from(bytes.get(start)? & 0x7f);
                }
                start += 1;
                Some(at.checked_sub(back).filter(|_| back > 0)?)
            }
            NAMED_DELTA => {
                let name: Hash = bytes.get(start..start + 20)?.try_into().ok()?;
                start += 20;
                Some(self.offset(&name).ok()??)
            }
            _ => None,
        };
        let content = self.inflated(at + start as u64)?;
        match base {
            None => Some((kind, content)),
            Some(base) => {
                let (kind, base) = self.object(base, depth + 1)?;
                Some((kind, patched(&base, &content)?))
            }
        }
    }

    fn inflated(&mut self, at: u64) -> Option<Vec<u8>> {
        // Nearly every commit is short; what a longer one needs is not known beforehand.
        [4 << 10, LONGEST].into_iter().find_map(|most| {
            decompress_to_vec_zlib_with_limit(&self.bytes(at, most)?, LONGEST).ok()
        })
    }

    fn bytes(&mut self, at: u64, most: usize) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        self.objects.seek(SeekFrom::Start(at)).ok()?;
        (&mut self.objects).take(most as u64).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
}

/// Makes an object of another and what is different in it.
fn patched(base: &[u8], delta: &[u8]) -> Option<Vec<u8>> {
    let mut at = 0;
    let mut size = || -> Option<usize> {
        let (mut size, mut shift) = (0usize, 0);
        loop {
            let byte = *delta.get(at)?;
            at += 1;
            size |= usize::from(byte & 0x7f).checked_shl(shift)?;
            shift += 7;
            if byte & 0x80 == 0 {
                return Some(size);
            }
        }
    };
    size()?;
    let whole = size().filter(|size| *size <= LONGEST)?;
    let mut made = Vec::with_capacity(whole);
    while let Some(&step) = delta.get(at) {
        at += 1;
        if step & 0x80 == 0 {
            made.extend_from_slice(delta.get(at..at + usize::from(step))?);
            at += usize::from(step);
            continue;
        }
        let mut field = |bits: std::ops::Range<u32>| -> Option<usize> {
            let mut value = 0;
            for (shift, bit) in bits.enumerate() {
                if step & 1 << bit != 0 {
                    value |= usize::from(*delta.get(at)?) << (8 * shift);
                    at += 1;
                }
            }
            Some(value)
        };
        let (from, size) = (field(0..4)?, field(4..7)?);
        let size = if size == 0 { 0x10000 } else { size };
        made.extend_from_slice(base.get(from..from.checked_add(size)?)?);
        if made.len() > LONGEST {
            return None;
        }
    }
    (made.len() == whole).then_some(made)
}

/// A name as it is written, in full.
pub fn hash(text: &str) -> Option<Hash> {
    let text = text.trim().as_bytes();
    if text.len() != 40 {
        return None;
    }
    let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
    let mut hash = [0; 20];
    for (byte, pair) in hash.iter_mut().zip(text.chunks(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(hash)
}

pub fn hex(hash: &Hash) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}
