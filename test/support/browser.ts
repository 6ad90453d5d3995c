/** Starts a headless Chromium, if the machine has one. */
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { chromium, type Browser } from 'playwright-core'
import type { Test } from 'tap'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** Path of Chromium: `TEST_CHROMIUM`, or found on the PATH. */
function findChromium (): string | undefined {
  const given = process.env['TEST_CHROMIUM']
  const files = (process.env['PATH'] ?? '').split(delimiter).flatMap(
    (folder) => NAMES.map((name) => join(folder, name))
  )
  return [given ?? '', ...files].find((file) => file !== '' && existsSync(file))
}

/** It calls nobody but the pages that it opens. */
const ARGUMENTS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'
]

/** Reason to skip tests of pages, or false. */
export const noBrowser: string | false = findChromium() === undefined
  ? 'Chromium was not found: install it (apt-get install chromium) or set TEST_CHROMIUM to its path'
  : false

/** Scrollbars take their width, as they do for most people with a mouse. */
export async function startBrowser (t: Test): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: findChromium() as string, args: ARGUMENTS, ignoreDefaultArgs: ['--hide-scrollbars']
  })
  t.teardown(() => browser.close())
  return browser
}
