/** A headless Chromium of this machine, if there is one. */
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { chromium, type Browser } from 'playwright-core'
import type { Test } from 'tap'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** Where it is: `TEST_CHROMIUM`, or on the PATH. */
function findChromium (): string | undefined {
  const given = process.env['TEST_CHROMIUM']
  const files = (process.env['PATH'] ?? '').split(delimiter).flatMap((folder) => NAMES.map((name) => join(folder, name)))
  return [given ?? '', ...files].find((file) => file !== '' && existsSync(file))
}

/** Why a test of a page is skipped, or false. */
export const noBrowser: string | false = findChromium() === undefined ? 'there is no Chromium here: install one (apt-get install chromium) or set TEST_CHROMIUM to its path' : false

export async function startBrowser (t: Test): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: findChromium() as string, args: ['--no-sandbox'] })
  t.teardown(() => browser.close())
  return browser
}
