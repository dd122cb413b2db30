# The Homebrew formula; `packaging/formula VERSION SHA256SUMS REPOSITORY` fills it in for a release.
class Memtree < Formula
  desc "Memory of coding agents as a tree of plain Markdown files"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "@REPOSITORY@/releases/download/v@VERSION@/memtree-@VERSION@-aarch64-apple-darwin.tar.gz"
      sha256 "@aarch64-apple-darwin@"
    end
    on_intel do
      url "@REPOSITORY@/releases/download/v@VERSION@/memtree-@VERSION@-x86_64-apple-darwin.tar.gz"
      sha256 "@x86_64-apple-darwin@"
    end
  end

  on_linux do
    on_arm do
      url "@REPOSITORY@/releases/download/v@VERSION@/memtree-@VERSION@-aarch64-unknown-linux-gnu.tar.gz"
      sha256 "@aarch64-unknown-linux-gnu@"
    end
    on_intel do
      url "@REPOSITORY@/releases/download/v@VERSION@/memtree-@VERSION@-x86_64-unknown-linux-musl.tar.gz"
      sha256 "@x86_64-unknown-linux-musl@"
    end
  end

  def install
    bin.install "memtree"
    doc.install "README.md", "CHANGELOG.md", "docs"
    generate_completions_from_executable(bin/"memtree", "completions")
    (man1/"memtree.1").write Utils.safe_popen_read(bin/"memtree", "man")
  end

  test do
    system bin/"memtree", "--store", testpath/"memory", "sweep", "--sample"
    assert_match "SES", shell_output("#{bin}/memtree --store #{testpath}/memory search lock")
  end
end
