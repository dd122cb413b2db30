# `just` lists what there is; `just check` is what has to pass before a change goes in.

default:
    @just --list

# What CI checks
check:
    .ci/run

# The tests; a word chooses among them: `just test search`
test *words:
    cargo test {{ words }}

# Write the expected texts as they are now; read the difference before you commit it
bless:
    UPDATE_EXPECT=1 cargo test
    TRYCMD=overwrite cargo test --test it transcripts

# What takes longer: check, then a kill at every point, many more bent seeds, a model server, a RAG tool, real agents, official clients, measuring tests and benches
long: check
    tests/real_model/run real_model real_server || [ $? -eq 77 ]
    tests/real_embeddings/run || [ $? -eq 77 ]
    tests/rag/run || [ $? -eq 77 ]
    tests/real_agents/run long || [ $? -eq 77 ]
    tests/clients/run long || [ $? -eq 77 ]
    tests/real_clients/run long || [ $? -eq 77 ]
    MEMTREE_EVERY_POINT=1 cargo test --test it -- faults --nocapture
    MEMTREE_LINES=500 cargo test --test it -- writers
    MEMTREE_EDITS=1000 cargo test --test it -- edits --nocapture
    MEMTREE_FUZZ_RUNS=500 cargo test --test it -- fuzz --nocapture
    MEMTREE_PATTERN_RUNS=200 cargo test --test it -- patterns --nocapture
    MEMTREE_SYNC_RUNS=2000 cargo test --test it -- sync_devices --nocapture
    if command -v x86_64-w64-mingw32-gcc; then just windows; fi
    cargo test --release --test it -- --ignored eight_hundred --nocapture
    cargo bench --bench sweep
    cargo bench --bench search

# Whether it compiles for Windows; needs the C compiler of the package gcc-mingw-w64-x86-64
windows:
    rustup target add x86_64-pc-windows-gnu
    cargo check --target x86_64-pc-windows-gnu --all-targets
