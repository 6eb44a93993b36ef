// Folders that a search for the user's files leaves out: what version control, package managers and interpreters
// keep for themselves. Short on purpose: names that people also give to their own folders (build, out, logs) are
// not in it.

export const SKIPPED_FOLDERS: ReadonlySet<string> = new Set([
  ...[".git", ".hg", ".svn", "node_modules", ".venv", "__pycache__", ".cache", ".tox"],
  ...[".mypy_cache", ".pytest_cache", ".ruff_cache", ".ipynb_checkpoints"],
]);
