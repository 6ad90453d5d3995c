/** The decorator of the app of the stand-alone server, which has no hooks of others. */
export const OWN_APP = 'rowQueryOwnApp'
