// night: drives a browser
import t from 'tap'
import { runTasks } from './tasks.ts'

await runTasks(t, { width: 1400, height: 900 })
