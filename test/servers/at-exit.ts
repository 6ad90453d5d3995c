const tasks = new Set<() => void>()
// the last first: a server ends before its folder goes
process.on('exit', () => { for (const task of [...tasks].reverse()) task() })

/** Has something done when this process ends, at the latest. The answer does it now, and only once. */
export function atExit (task: () => void): () => void {
  const once = () => {
    if (tasks.delete(once)) task()
  }
  tasks.add(once)
  return once
}
