import { DAY, LATEST, OPENED, toDateTime } from './calendar.ts'
import { PERSONS, type Person } from './names.ts'
import type { Random } from './random.ts'

export type Customer = {
  id: number
  email: string
  name: string
  country: string
  newsletter: number
  birthday: string | null
  preferences: string | null
  created_at: string
}

const TOPICS = ['kitchen', 'garden', 'travel', 'desk', 'bicycle', 'gifts'] as const

/** Two levels deep with a list, true/false and null, so that a JSON column shows all it can hold. */
function preferences (random: Random, language: string): string {
  return JSON.stringify({
    language,
    theme: random.pick(['light', 'dark', null]),
    contact: { email: random.chance(80), sms: random.chance(25) },
    topics: random.sample(TOPICS, random.integer(0, 3))
  })
}

/** Anybody from 18 to about 80 years old on the day the shop opened. */
function birthday (random: Random): string {
  const days = random.integer(18 * 366, 80 * 365)
  return toDateTime(OPENED - days * DAY).slice(0, 10)
}

function customer (random: Random, person: Person, id: number, createdAt: number): Customer {
  return {
    id,
    email: person.email,
    name: person.name,
    country: person.country,
    newsletter: Number(random.chance(40)),
    birthday: random.chance(75) ? birthday(random) : null,
    preferences: random.chance(80) ? preferences(random, person.language) : null,
    created_at: toDateTime(createdAt)
  }
}

/** Customers in the order they signed up, as automatically counted ids would have it. */
export function createCustomers (random: Random, count: number): Customer[] {
  const persons = random.sample(PERSONS, count)
  // The last one signs up a month before the end, so that everybody had time to order.
  const times = persons.map(() => random.integer(OPENED, LATEST - 30 * DAY)).sort((a, b) => a - b)
  return persons.map((person, index) => customer(random, person, index + 1, times[index] as number))
}
