//! An open memory: the one thing that every verb starts from.
//!
//! [`Memory`] holds the tree, its settings and what the environment handed in. The verbs are `impl`
//! blocks beside their code: `memory.sweep(…)` stands in `ops/sweep.rs`, `memory.search(…)` in
//! `ops/search.rs`. What only some of them need (the redaction rules, the models) is made when it
//! is first asked for, so that a search does not pay for it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use chrono::Duration;

use crate::base::clock::Timestamp;
use crate::base::files;
use crate::base::redact::Redactor;
use crate::base::zone::Zone;
use crate::distill::clean::Cleaner;
use crate::environment::Environment;
use crate::error::{Context, Error, Result};
use crate::model::calls;
use crate::model::exclude::Exclude;
use crate::model::ids::{Device, SessionId};
use crate::model::trust::Trust;
use crate::models::Models;
use crate::models::embeddings::Embeddings;
use crate::settings::accepted::{Accepted, WaitingSetting};
use crate::settings::{self, Layers, Loaded, Settings};
use crate::store::Store;
use crate::store::device::{self, Acquaintance, Machine, Recognized, Tracked};
use crate::store::layout::{self, Layout};
use crate::store::local::StateFile;
use crate::store::tombstones::Decided;

/// An open memory.
pub struct Memory {
    store: Store,
    settings: Settings,
    accepted: Accepted,
    waiting: Vec<WaitingSetting>,
    warnings: Vec<String>,
    environment: Environment,
    recognized: Recognized,
    zone: OnceLock<Zone>,
    cleaner: OnceLock<Cleaner>,
    models: OnceLock<Models>,
    embeddings: OnceLock<Embeddings>,
}

impl Memory {
    /// Opens the memory in a folder, which has to be there.
    pub fn open(root: impl AsRef<Path>) -> Result<Memory> {
        Memory::open_in(root.as_ref(), Environment::of_process()?)
    }

    /// Makes a memory in a folder, keeping whatever is there.
    pub fn init(root: impl AsRef<Path>) -> Result<Memory> {
        let environment = Environment::of_process()?;
        Ok(Memory::init_in(root.as_ref(), environment)?.0)
    }

    /// Opens the memory in a folder, or makes one there.
    pub fn open_or_init(root: impl AsRef<Path>) -> Result<Memory> {
        match files::is_file(Layout::new(root.as_ref()).settings()) {
            true => Memory::open(root),
            false => Memory::init(root),
        }
    }

    /// The same as [`open`](Memory::open), in a given environment.
    pub fn open_in(root: &Path, environment: Environment) -> Result<Memory> {
        let mut memory = Memory::with_store(Store::open(root)?, environment)?;
        memory.note_device();
        Ok(memory)
    }

    /// The same as [`init`](Memory::init), in a given environment; says which files were written.
    pub fn init_in(root: &Path, environment: Environment) -> Result<(Memory, Vec<String>)> {
        let (store, written) = Store::init(root)?;
        let mut memory = Memory::with_store(store, environment)?;
        memory.note_device();
        Ok((memory, written))
    }

    /// A memory that need not be there: a dry run reads it as an empty one and creates nothing.
    pub fn open_for_dry_run(root: &Path, environment: Environment) -> Result<Memory> {
        let store = Store::at(root);
        store.refuse_own_link()?;
        Memory::with_store(store, environment)
    }

    fn with_store(store: Store, mut environment: Environment) -> Result<Memory> {
        let Environment { device: name, device_is_named: is_named, machine: id, .. } = &environment;
        let recognized =
            device::recognize(store.layout(), Machine { name, is_named: *is_named, id });
        environment.device = recognized.identity.name.clone();
        let files = SettingsFiles::read(store.layout(), &environment)?;
        let accepted = files.accepted(store.layout(), &recognized);
        let is_known = recognized.is_known || recognized.is_upgrade;
        let Loaded { settings, warnings, waiting } = files.load(&accepted, is_known)?;
        Ok(Memory {
            store,
            settings,
            accepted,
            waiting,
            warnings,
            environment,
            recognized,
            zone: OnceLock::new(),
            cleaner: OnceLock::new(),
            models: OnceLock::new(),
            embeddings: OnceLock::new(),
        })
    }

    /// Notes who this device is, so that the next run knows it again. Where nothing can be written,
    /// nothing is captured either, and nothing depends on it.
    fn note_device(&mut self) {
        let layout = self.layout();
        let noted = match self.recognized.is_known {
            true => Ok(false),
            false => Acquaintance::file(layout)
                .save(&self.acquaintance())
                .and_then(|_| accepted_file(layout).save(&self.accepted))
                .and_then(|saved| {
                    Decided::begin(layout, self.recognized.is_upgrade).map(|()| saved)
                }),
        };
        let noted = noted.and_then(|_| self.recognized.identity.save(layout));
        self.recognized.is_known |= noted.is_ok();
    }

    /// The tree.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// The paths of the tree.
    pub(crate) fn layout(&self) -> &Layout {
        self.store.layout()
    }

    /// The folder that the memory is.
    pub fn root(&self) -> &Path {
        self.layout().root()
    }

    /// The settings: defaults, the memory's own, the person's, the environment's.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What is wrong with the settings without being an error, in sentences.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What the memory's file says and nobody accepted on this device, so that it has no effect.
    pub fn waiting_settings(&self) -> &[WaitingSetting] {
        &self.waiting
    }

    /// Decides on settings that wait: those for which `decide` changes what is accepted. Nothing is
    /// noted where the result could not be used.
    pub(crate) fn decide_settings(
        &self,
        decide: impl Fn(&mut Accepted, &WaitingSetting),
        chosen: &[WaitingSetting],
    ) -> Result<()> {
        let mut accepted = self.accepted.clone();
        chosen.iter().for_each(|setting| decide(&mut accepted, setting));
        let files = SettingsFiles::read(self.layout(), &self.environment)?;
        files.load(&accepted, true)?.settings.check()?;
        let saved = accepted_file(self.layout()).save(&accepted);
        saved.map(drop).context(|| self.store.cannot_write())
    }

    /// What the machine handed in.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The time at which the run began.
    pub fn now(&self) -> Timestamp {
        self.environment.now
    }

    /// This machine's name in the memory.
    pub fn device(&self) -> &Device {
        &self.environment.device
    }

    /// Who this device is, and how that is known.
    pub(crate) fn recognized(&self) -> &Recognized {
        &self.recognized
    }

    /// What this device captured itself, and whom it has seen.
    pub(crate) fn acquaintance(&self) -> Acquaintance {
        match &self.recognized {
            known if known.is_known => Acquaintance::file(self.layout()).load(),
            // Snapshots do not leave their device: where one lies that git did not bring, it was
            // captured.
            new => {
                let sessions = self.store.session_ids().unwrap_or_default();
                let tracked = Tracked::of(self.layout());
                let is_captured = |id: &SessionId| {
                    let snapshot = self.layout().snapshot(id);
                    // The readable parts may travel; raw only where git has it, a folder never.
                    let raw = snapshot.join(layout::RAW);
                    let kept = if files::is_dir(&raw) { raw } else { snapshot };
                    files::is_dir(&kept) && !tracked.may_hold(&self.layout().shown(&kept))
                };
                let is_own = |id: &&SessionId| {
                    id.device == *self.device() && (new.is_upgrade || is_captured(id))
                };
                Acquaintance::of_earlier(sessions.iter().filter(is_own))
            }
        }
    }

    /// Whose words count as the person's: of what was captured here, and of the devices that the
    /// person's own configuration names. Everything that is given to an agent asks this for each
    /// line, by the session that it comes from ([`Trust::of_session`]); a line whose
    /// [`Standing`](crate::model::trust::Standing) does not
    /// [speak for the person](crate::model::trust::Standing::speaks_for_person) is given as what
    /// somebody wrote on that device, never as the person's own words.
    pub fn trust(&self) -> Trust {
        let names = self.recognized.identity.names().cloned();
        let trusted = self.settings.devices.trust.iter().map(|name| Device::new(name));
        let Acquaintance { own, seen, .. } = self.acquaintance();
        Trust::new(names, own, trusted, seen)
    }

    /// The time zone whose midnight parts the days.
    pub(crate) fn zone(&self) -> Result<Zone> {
        made(&self.zone, || self.settings.zone()).copied()
    }

    /// What every text goes through before it is written, with the person's own rules.
    pub(crate) fn cleaner(&self) -> Result<&Cleaner> {
        let output_bytes = self.settings.snapshot.sensory_bytes;
        made(&self.cleaner, || Ok(Cleaner::new(self.settings.redactor()?, output_bytes)))
    }

    /// Finds secrets, by the rules that are built in and the person's own.
    pub(crate) fn redactor(&self) -> Result<&Redactor> {
        Ok(self.cleaner()?.redactor())
    }

    /// What the person wants left out.
    pub(crate) fn exclude(&self) -> Exclude {
        let excluded = &self.settings.exclude;
        let folders = excluded.folders.iter().map(|folder| self.environment.expand(folder));
        Exclude { projects: excluded.projects.clone(), folders: folders.collect() }
    }

    /// What the memory's file wants left out, and nobody accepted here.
    pub(crate) fn held_back(&self) -> Exclude {
        let names = |key: &str| -> Vec<String> {
            let waiting = self.waiting.iter().filter(|setting| setting.key == key);
            let values = waiting.filter_map(|setting| setting.value.as_ref()?.as_array());
            values.flatten().filter_map(|name| name.as_str()).map(str::to_string).collect()
        };
        let folders = names("exclude.folders");
        Exclude {
            projects: names("exclude.projects"),
            folders: folders.iter().map(|folder| self.environment.expand(folder)).collect(),
        }
    }

    /// How long a session is silent before it counts as over.
    pub(crate) fn open_for(&self) -> Duration {
        Duration::minutes(self.settings.sessions.open_minutes.into())
    }

    /// The models that the settings name, if any. Below a call of a model there are none, or it
    /// could go on for ever.
    pub(crate) fn models(&self) -> Result<&Models> {
        made(&self.models, || {
            if self.environment.variable(calls::GUARDS[0]) == Some(calls::CALLER) {
                return Ok(Models::none());
            }
            Models::configured(
                &self.settings,
                &self.environment.places.home,
                &self.environment.places.environment,
                self.now(),
                self.layout(),
            )
        })
    }

    /// The server of embeddings that the settings name, if any.
    pub(crate) fn embeddings(&self) -> Result<&Embeddings> {
        made(&self.embeddings, || {
            let variables = &self.environment.places.environment;
            Embeddings::configured(&self.settings, variables, self.now(), self.layout())
        })
    }
}

/// What a cell holds; it is made the first time.
fn made<T>(cell: &OnceLock<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(there) = cell.get() {
        return Ok(there);
    }
    let new = make()?;
    Ok(cell.get_or_init(|| new))
}

/// What of the memory's settings was accepted on this device.
fn accepted_file(layout: &Layout) -> StateFile<Accepted> {
    StateFile::local(layout.accepted())
}

/// The files that settings come from, as they are now.
struct SettingsFiles<'e> {
    memory: Option<String>,
    memory_path: PathBuf,
    /// Why the memory's file could not be read.
    unread: Option<String>,
    user: Option<String>,
    user_path: PathBuf,
    environment: &'e Environment,
}

impl<'e> SettingsFiles<'e> {
    fn read(layout: &Layout, environment: &'e Environment) -> Result<SettingsFiles<'e>> {
        let read = |path: &Path| match files::read_to_string(path) {
            Ok(text) => Ok(Some(text)),
            // Also where a file stands in the way: whoever makes the memory will say so.
            Err(err) if matches!(err.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Ok(None)
            }
            Err(err) => {
                Err(err).context(|| format!("cannot read the settings `{}`", path.display()))
            }
        };
        if let Some(named) = environment.settings_file.as_ref().filter(|file| !files::is_file(file))
        {
            return Err(Error::usage(format!("there is no file `{}`", named.display()))
                .hint("check the path after `--config`"));
        }
        let (memory_path, user_path) = (layout.settings(), environment.settings_path());
        // Whoever may push can put anything there; what was accepted stays in force.
        let (memory, unread) = match read(&memory_path) {
            Ok(memory) => (memory, None),
            Err(err) => (Some(String::new()), Some(err.causes().join(": "))),
        };
        Ok(SettingsFiles {
            memory,
            unread,
            user: read(&user_path)?,
            memory_path,
            user_path,
            environment,
        })
    }

    /// What of the memory's file counts here: what was accepted; all of it where this device used
    /// it before there was anything to accept; nothing in a fresh clone.
    fn accepted(&self, layout: &Layout, recognized: &Recognized) -> Accepted {
        match (&self.memory, recognized) {
            (_, known) if known.is_known => accepted_file(layout).load(),
            (Some(text), earlier) if earlier.is_upgrade => {
                settings::of_earlier(&self.memory_path, text)
            }
            _ => Accepted::default(),
        }
    }

    /// Puts them together.
    fn load(&self, accepted: &Accepted, is_known: bool) -> Result<Loaded> {
        Settings::load(&Layers {
            memory: self.memory.as_deref().map(|text| (self.memory_path.as_path(), text)),
            unread: self.unread.as_deref(),
            user: self.user.as_deref().map(|text| (self.user_path.as_path(), text)),
            environment: self.environment.places.environment.clone(),
            accepted: Some(accepted),
            is_known,
        })
    }
}
