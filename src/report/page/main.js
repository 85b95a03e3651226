"use strict";
Sked.start();
